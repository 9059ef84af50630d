# Keeps what a program draws, as files of $SANDBOX_PLOTS. Python runs this at its start.
import importlib.abc
import importlib.machinery
import os
import shutil
import sys

DIRECTORY = os.environ.get("SANDBOX_PLOTS", "")


def next_path(suffix):
    """Returns the path of the next plot. Numbers go on over the programs of a session."""
    os.makedirs(DIRECTORY, exist_ok=True)
    numbers = [int(name[:6]) for name in os.listdir(DIRECTORY) if name[:6].isdigit()]
    return os.path.join(DIRECTORY, "%06d%s" % (max(numbers, default=0) + 1, suffix))


def keep_copy(path):
    if isinstance(path, (str, os.PathLike)) and os.path.isfile(path):
        shutil.copyfile(path, next_path(os.path.splitext(os.fspath(path))[1] or ".png"))


def of_pyplot(pyplot):
    save = pyplot.savefig

    def has_content(axes):
        return any((axes.lines, axes.patches, axes.collections, axes.images, axes.texts))

    def show(*args, **kwargs):
        figure = pyplot.gcf()
        if any(has_content(one) for one in figure.get_axes()):
            figure.savefig(next_path(".png"), dpi=100, bbox_inches="tight")
        pyplot.clf()

    def savefig(*args, **kwargs):
        done = save(*args, **kwargs)
        keep_copy(args[0] if args else kwargs.get("fname"))
        return done

    pyplot.show, pyplot.savefig = show, savefig


def of_plotly(module):
    figure = module.BaseFigure
    write_html, write_image = figure.write_html, figure.write_image

    def show(self, *args, **kwargs):
        write_html(self, next_path(".html"))

    def keep_html(self, file, *args, **kwargs):
        write_html(self, file, *args, **kwargs)
        keep_copy(file)

    def keep_image(self, file, *args, **kwargs):
        write_image(self, file, *args, **kwargs)
        keep_copy(file)

    figure.show, figure.write_html, figure.write_image = show, keep_html, keep_image


CHANGES = {"matplotlib.pyplot": of_pyplot, "plotly.basedatatypes": of_plotly}


class Finder(importlib.abc.MetaPathFinder):
    """Changes a module right after its import."""

    def find_spec(self, name, path, target=None):
        change = CHANGES.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module
        return spec


if DIRECTORY:
    sys.meta_path.insert(0, Finder())
