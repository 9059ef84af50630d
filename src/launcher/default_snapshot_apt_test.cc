#include "launcher/default_snapshot_apt.h"

#include <gtest/gtest.h>

namespace cay::launcher {
namespace {

constexpr std::string_view kDebian = "ID=debian\nVERSION_CODENAME=bookworm\n";
std::string from_lines(std::string text) {
  return apt_sources(kDebian, {{AptFile::Form::kLines, std::move(text)}});
}
std::string from_stanzas(std::string text) {
  return apt_sources(kDebian, {{AptFile::Form::kStanzas, std::move(text)}});
}

bool is_none(const std::string& sources) {
  return sources.starts_with("# ") && !names_a_mirror(sources);
}

TEST(AptSourcesTest, WithoutTheHostsThereIsASentenceAndNoServer) {
  EXPECT_TRUE(is_none(apt_sources(kDebian, {}))) << apt_sources(kDebian, {});
  EXPECT_TRUE(is_none(apt_sources("ID=ubuntu\nVERSION_CODENAME=noble\n", {})));
  EXPECT_EQ(apt_sources(kDebian, {}).find("://"), std::string::npos);
  EXPECT_EQ(apt_sources("ID=fedora\nVERSION_CODENAME=x\n", {}), "");
  EXPECT_EQ(apt_sources("ID=debian\n", {}), "");
}

TEST(AptSourcesTest, TheHostsMirrorIsUsed) {
  const std::string got = from_lines(
      "# deb http://commented.test/debian bookworm main\n"
      "deb-src http://src.test/debian bookworm main\n"
      "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
      "https://mirror.test:8443/pub/debian/ bookworm main contrib # near\n"
      "deb http://security.test/debian-security bookworm-security main non-free-firmware\n");
  EXPECT_NE(got.find("URIs: https://mirror.test:8443/pub/debian/\nSuites: bookworm "
                     "bookworm-updates\nComponents: main contrib\n"),
            std::string::npos)
      << got;
  EXPECT_NE(got.find("URIs: http://security.test/debian-security\n"), std::string::npos) << got;
  EXPECT_EQ(got.find("src.test"), std::string::npos);
  EXPECT_EQ(got.find("commented"), std::string::npos);
  const std::string stanzas = from_stanzas(
      "Enabled: no\nTypes: deb\nURIs: http://off.test/debian\nSuites: bookworm\nComponents: "
      "main\n\n"
      "Types: deb deb-src\nuris: ftp://x.test/debian\n http://mirror.test/debian\nSuites: bookworm "
      "bookworm-updates\nComponents: main\n"
      "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n");
  EXPECT_NE(stanzas.find("URIs: http://mirror.test/debian\n"), std::string::npos) << stanzas;
  EXPECT_EQ(stanzas.find("debian-security"), std::string::npos) << "the host has none";
  EXPECT_TRUE(names_a_mirror(got) && names_a_mirror(stanzas));
}

TEST(AptSourcesTest, TheOperatorsArchiveStandsInThePlaceOfTheHosts) {
  const std::vector<AptFile> host = {
      {AptFile::Form::kLines,
       "deb http://mirror.test/debian bookworm main contrib\n"
       "deb http://security.test/debian-security bookworm-security main\n"}};
  const std::string got = apt_sources(kDebian, host, "http://corp.test/v2/debian");
  EXPECT_NE(got.find("URIs: http://corp.test/v2/debian\nSuites: bookworm "
                     "bookworm-updates\nComponents: main contrib\n"),
            std::string::npos)
      << got;
  EXPECT_NE(got.find("URIs: http://security.test/debian-security\n"), std::string::npos) << got;
  EXPECT_EQ(got.find("mirror.test"), std::string::npos) << got;
  const std::string alone = apt_sources(kDebian, {}, "http://corp.test/v2/debian");
  EXPECT_NE(alone.find("URIs: http://corp.test/v2/debian\nSuites: bookworm "
                       "bookworm-updates\nComponents: main\n"),
            std::string::npos)
      << alone;
  EXPECT_EQ(apt_sources("ID=fedora\nVERSION_CODENAME=x\n", {}, "http://corp.test/v2/debian"), "");
}

TEST(AptSourcesTest, NothingThatMayBeASecretIsTaken) {
  EXPECT_TRUE(names_a_mirror(
      from_lines("deb https://corp.test/debian bookworm main\n")));  // positive control
  for (const char* uri :
       {"https://alice:s3cret@corp.test/debian", "https://token@corp.test/debian",
        "https://corp.test/debian?token=s3cret", "https://corp.test/abcdefghijklmnopqrstuv/debian",
        "https://corp.test/a1b2c3/debian", "https://corp.test/debian/#s3cret",
        "https://corp.test/%61/debian", "file:/srv/debian", "copy:/srv/debian", "cdrom:[x]/debian",
        "http:///debian", "https://corp.test/private", "https://corp.test/notdebian"}) {
    EXPECT_TRUE(is_none(from_lines(std::string("deb ") + uri + " bookworm main\n"))) << uri;
    EXPECT_TRUE(is_none(from_stanzas(std::string("Types: deb\nURIs: ") + uri +
                                     "\nSuites: bookworm\nComponents: main\n")))
        << uri;
  }
}

TEST(AptSourcesTest, OtherPeoplesRepositoriesAreNotTaken) {
  EXPECT_TRUE(is_none(from_lines(
      "deb [signed-by=/etc/apt/keyrings/corp.gpg] https://corp.test/debian bookworm main\n")));
  EXPECT_TRUE(is_none(from_stanzas(
      "Types: deb\nURIs: https://corp.test/debian\nSuites: bookworm\nComponents: main\nSigned-By:\n"
      " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n")));
  EXPECT_TRUE(is_none(
      from_lines("deb https://corp.test/debian stable main\ndeb https://corp.test/debian ./\n")));
  EXPECT_TRUE(is_none(from_lines("deb https://corp.test/debian bookworm ma\"in\n")));
}

TEST(AptSourcesTest, RubbishIsNoTrouble) {
  for (const char* text : {"deb", "deb [", "deb [x] ", "[] [] []", "\n\n\t\r\n", ":", " :x",
                           "Types", "deb [a=b http://x/debian bookworm main"}) {
    EXPECT_TRUE(is_none(from_lines(text)));
    EXPECT_TRUE(is_none(from_stanzas(text)));
  }
}

}  // namespace
}  // namespace cay::launcher
