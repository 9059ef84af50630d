#include "policy/presets.h"

namespace cay::policy {
namespace {

// Exact names as far as they go: under a wildcard of somebody's cloud lies everybody's.
constexpr Preset kPresets[] = {
    {"off", "nothing", ""},
    {"open", "everything but special ranges", "default allow"},
    {"debian", "Debian's archives, and this host's own",
     "deb.debian.org, security.debian.org, ftp.debian.org"},
    {"ubuntu", "Ubuntu's archives", "archive.ubuntu.com, security.ubuntu.com, ports.ubuntu.com"},
    {"alpine", "Alpine's archives", "dl-cdn.alpinelinux.org"},
    {"pip", "Python packages",
     "pypi.org:443, files.pythonhosted.org:443, pythonhosted.org:443, pypi.python.org:443"},
    {"npm", "JavaScript packages",
     "registry.npmjs.org:443, registry.yarnpkg.com:443, repo.yarnpkg.com:443"},
    {"node", "Node.js itself: releases, and the headers that node-gyp compiles modules with",
     "nodejs.org:443"},
    {"cargo",
     "Rust crates and toolchains, for cargo 1.70 and later: older ones read an index at "
     "github.com, which git has",
     "crates.io:443, index.crates.io:443, static.crates.io:443, static.rust-lang.org:443"},
    {"go", "Go modules", "proxy.golang.org:443, sum.golang.org:443"},
    {"ruby", "Ruby gems", "rubygems.org:443, index.rubygems.org:443"},
    {"java", "Maven's and Gradle's archives",
     "repo.maven.apache.org:443, repo1.maven.org:443, plugins.gradle.org:443, "
     "services.gradle.org:443"},
    {"dotnet", ".NET packages", "api.nuget.org:443"},
    {"php", "PHP packages", "packagist.org:443, repo.packagist.org:443"},
    {"git", "Git hosts over HTTPS, and where they keep archives and large files",
     "github.com:443, codeload.github.com:443, objects.githubusercontent.com:443, "
     "release-assets.githubusercontent.com:443, "
     "raw.githubusercontent.com:443, github-cloud.githubusercontent.com:443, gitlab.com:443, "
     "bitbucket.org:443, codeberg.org:443, salsa.debian.org:443"},
    {"packages", "package registries, archives and Git hosts; the default",
     "@debian, @ubuntu, @alpine, @pip, @npm, @cargo, @go, @ruby, @java, @dotnet, @php, @git"},
    {"models", "APIs of language models",
     "api.openai.com:443, api.anthropic.com:443, generativelanguage.googleapis.com:443, "
     "aiplatform.googleapis.com:443, api.mistral.ai:443, "
     "codestral.mistral.ai:443, api.cohere.com:443, api.deepseek.com:443, api.x.ai:443, "
     "api.groq.com:443, api.together.xyz:443, "
     "api.fireworks.ai:443, api.perplexity.ai:443, openrouter.ai:443, router.huggingface.co:443"},
    // A wildcard: Hugging Face changes its names below hf.co (decision 0039).
    {"huggingface", "models and data sets of Hugging Face, where everybody may upload",
     "huggingface.co:443, hf.co:443, *.hf.co:443, cdn-lfs.huggingface.co:443, "
     "cdn-lfs-us-1.huggingface.co:443, cdn-lfs-eu-1.huggingface.co:443"},
    {"tracing", "where traces are sent: LangSmith, and OTLP's hosted collectors",
     "api.smith.langchain.com:443, eu.api.smith.langchain.com:443, "
     "apac.api.smith.langchain.com:443, aws.api.smith.langchain.com:443, "
     "cloud.langfuse.com:443, us.cloud.langfuse.com:443, jp.cloud.langfuse.com:443, "
     "hipaa.cloud.langfuse.com:443, api.honeycomb.io:443, "
     "api.eu1.honeycomb.io:443, otlp.nr-data.net:443, otlp.eu01.nr-data.net:443, "
     "otlp.arize.com:443, logfire-us.pydantic.dev:443, "
     "logfire-eu.pydantic.dev:443, logfire-api.pydantic.dev:443, api.braintrust.dev:443"},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

}  // namespace cay::policy
