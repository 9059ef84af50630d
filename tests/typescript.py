"""An example in TypeScript as a program that node runs."""
import json
import subprocess

from harness import ROOT, slow

FOLDER = ROOT / "build/node/deepagents"  # has the package typescript
TRANSPILE = """
const [folder, source, options] = process.argv.slice(1);
const ts = require(`${folder}/node_modules/typescript`);
const made = ts.transpileModule(source, { compilerOptions: JSON.parse(options) });
process.stdout.write(made.outputText);
"""


def transpiled(path, folder, packages):
    """Makes a program of the file `path` in `folder`, with the packages of the tree `packages`."""
    options = {"module": "esnext", "target": "es2022", "verbatimModuleSyntax": True}
    made = subprocess.run(
        ["node", "-e", TRANSPILE, FOLDER, path.read_text(), json.dumps(options)],
        capture_output=True,
        text=True,
        timeout=slow(60),
        check=True,
    )
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(packages / "node_modules")
    program = folder / f"{path.stem}.js"
    program.write_text(made.stdout)
    return program
