// The hosts of the policy `packages`: where package managers and Git get things by default. By TLS, unless said otherwise.
#pragma once

namespace cay::gate {

inline constexpr const char* kPackageHosts[] = {
    // Python
    "pypi.org", "files.pythonhosted.org", "pythonhosted.org", "pypi.python.org",
    // JavaScript
    "registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com",
    // Rust
    "crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org",
    // Go
    "proxy.golang.org", "sum.golang.org",
    // Ruby, Java, .NET, PHP
    "rubygems.org", "index.rubygems.org", "repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org",
    "services.gradle.org", "api.nuget.org", "packagist.org", "repo.packagist.org",
    // Git hosts, and where they keep archives and large files
    "github.com", "codeload.github.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com",
    "raw.githubusercontent.com", "gitlab.com", "bitbucket.org", "codeberg.org", "salsa.debian.org",
};

// Distributions' archives are signed, and asked over plain HTTP.
inline constexpr const char* kPackageHostsByHttp[] = {
    "deb.debian.org", "security.debian.org", "ftp.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com",
    "dl-cdn.alpinelinux.org",
};

}  // namespace cay::gate
