// Whole Dockerfiles of kinds of projects, from the text to the configuration of the image.
#include <gtest/gtest.h>

#include "dockerfile/testing/fake_host.h"

namespace cay::dockerfile {
namespace {

using Words = std::vector<std::string>;

class ProjectsTest : public ::testing::Test {
 protected:
  Finished build(std::string_view text, const BuildOptions& options = {}) {
    auto file = parse(text);
    EXPECT_TRUE(file) << (file ? "" : file.error().message);
    if (!file) return {};
    auto one = Build::create(*std::move(file), options);
    EXPECT_TRUE(one) << (one ? "" : one.error().message);
    if (!one) return {};
    auto out = host_.run(*one);
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? *std::move(out) : Finished{};
  }
  // How often the build did something that begins so.
  int count(std::string_view beginning) const {
    int out = 0;
    for (const auto& line : host_.log) out += line.starts_with(beginning) ? 1 : 0;
    return out;
  }
  bool did(std::string_view line) const { return count(line) > 0; }

  FakeHost host_;
};

TEST_F(ProjectsTest, TheTutorialsTwoLines) {
  host_.images["python:3.11"].command = {"python3"};
  const auto out = build("FROM python:3.11\nRUN pip install deepagents-cli\n");
  EXPECT_TRUE(did("run /bin/sh -c pip install deepagents-cli as  in /"));
  EXPECT_EQ(count("seal"), 1);
  EXPECT_EQ(out.config.command, Words{"python3"});
}

TEST_F(ProjectsTest, PythonWithPip) {
  const auto out = build(R"(# syntax=docker/dockerfile:1
ARG PYTHON_VERSION=3.12
FROM python:${PYTHON_VERSION}-slim AS base

# Prevents Python from writing pyc files.
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /app

RUN --mount=type=cache,target=/root/.cache/pip \
    --mount=type=bind,source=requirements.txt,target=requirements.txt \
    python -m pip install -r requirements.txt
COPY . .
EXPOSE 8000
CMD ["gunicorn", "app:app", "--bind=0.0.0.0:8000"]
)");
  EXPECT_TRUE(did("resolve python:3.12-slim"));
  EXPECT_EQ(count("seal"), 2);
  EXPECT_EQ(out.config.run.env.at("PYTHONUNBUFFERED"), "1");
  EXPECT_EQ(out.config.ports, Words{"8000/tcp"});
  EXPECT_EQ(out.config.command, (Words{"gunicorn", "app:app", "--bind=0.0.0.0:8000"}));
}

TEST_F(ProjectsTest, NodeWithNpm) {
  const auto out = build(R"(FROM node:20-alpine
ENV NODE_ENV production
WORKDIR /usr/src/app
COPY ["package.json", "package-lock.json*", "./"]
RUN npm ci --omit=dev && npm cache clean --force
COPY --chown=node:node . .
USER node
EXPOSE 3000
HEALTHCHECK --interval=30s CMD wget -qO- http://localhost:3000/ || exit 1
CMD npm start
)");
  EXPECT_TRUE(did("copy :package.json,package-lock.json*, /usr/src/app"));
  EXPECT_EQ(out.config.run.user, "node");
  EXPECT_EQ(out.config.run.env.at("NODE_ENV"), "production");
  EXPECT_EQ(out.config.command, (Words{"/bin/sh", "-c", "npm start"}));
}

TEST_F(ProjectsTest, GoInTwoStages) {
  const auto out = build(R"(FROM --platform=$BUILDPLATFORM golang:1.22 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -o /out/server ./cmd/server

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/server /server
USER 65532:65532
ENTRYPOINT ["/server"]
)");
  EXPECT_EQ(count("seal"), 6);
  EXPECT_TRUE(did("copy L3:out/server, /server"));
  EXPECT_EQ(out.config.entrypoint, Words{"/server"});
  EXPECT_EQ(out.config.run.user, "65532:65532");
}

TEST_F(ProjectsTest, CppWithCMake) {
  const auto out = build(R"(FROM debian:12 AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN apt-get update && apt-get install -y --no-install-recommends \
      # the compiler
      build-essential \
      cmake ninja-build \
    && rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt /src/
COPY src /src/src
RUN cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release && cmake --build /build
FROM debian:12-slim
COPY --from=build --chmod=0755 /build/app /usr/local/bin/app
ENTRYPOINT ["app"]
CMD ["--help"]
)");
  EXPECT_TRUE(
      did("run /bin/bash -o pipefail -c apt-get update && apt-get install -y "
          "--no-install-recommends       build-essential       cmake ninja-build"));
  EXPECT_EQ(out.config.entrypoint, Words{"app"});
  EXPECT_EQ(out.config.command, Words{"--help"});
}

TEST_F(ProjectsTest, JavaWithMaven) {
  const auto out = build(R"(FROM maven:3.9-eclipse-temurin-21 AS build
WORKDIR /build
COPY pom.xml .
RUN mvn -B dependency:go-offline
COPY src ./src
RUN mvn -B package -DskipTests
FROM eclipse-temurin:21-jre
ARG JAR_FILE=/build/target/*.jar
COPY --from=build ${JAR_FILE} /app/app.jar
ENV JAVA_OPTS="-Xmx256m -Dx=\"y z\""
ENTRYPOINT exec java $JAVA_OPTS -jar /app/app.jar
)");
  EXPECT_TRUE(did("copy L3:build/target/*.jar, /app/app.jar"));
  EXPECT_EQ(out.config.run.env.at("JAVA_OPTS"), "-Xmx256m -Dx=\"y z\"");
  EXPECT_EQ(out.config.entrypoint,
            (Words{"/bin/sh", "-c", "exec java $JAVA_OPTS -jar /app/app.jar"}));
}

TEST_F(ProjectsTest, RubyWithBundler) {
  host_.images["ruby:3.3"].run.env = {{"GEM_HOME", "/usr/local/bundle"}, {"PATH", "/ruby/bin"}};
  host_.images["ruby:3.3"].command = {"irb"};
  const auto out = build(R"(FROM ruby:3.3
LABEL org.opencontainers.image.title="shop" \
      org.opencontainers.image.version='1.0'
ENV BUNDLE_WITHOUT=development:test PATH=$GEM_HOME/bin:$PATH
WORKDIR /shop
COPY Gemfile Gemfile.lock ./
RUN bundle install --jobs 4
COPY . .
VOLUME /shop/log
ENTRYPOINT ["bundle", "exec"]
CMD ["rails", "server", "-b", "0.0.0.0"]
)");
  EXPECT_EQ(out.config.run.env.at("PATH"), "/usr/local/bundle/bin:/ruby/bin");
  EXPECT_EQ(out.config.labels.at("org.opencontainers.image.title"), "shop");
  EXPECT_EQ(out.config.command, (Words{"rails", "server", "-b", "0.0.0.0"}));
}

TEST_F(ProjectsTest, AUserThatIsNotRoot) {
  const auto out = build(R"(FROM debian:12
ARG UID=10001
RUN adduser --disabled-password --uid "${UID}" app
USER app
WORKDIR /home/app
RUN touch x
USER root
RUN id
USER app:app
CMD ["id"]
)");
  EXPECT_TRUE(did("run /bin/sh -c touch x as app in /home/app"));
  EXPECT_TRUE(did("run /bin/sh -c id as root in /home/app"));
  EXPECT_EQ(out.config.run.user, "app:app");
}

TEST_F(ProjectsTest, HereDocuments) {
  const auto out = build(R"(FROM alpine:3.20
ARG GREETING=hello
RUN <<EOF
set -e
apk add --no-cache nginx
EOF
COPY <<index.html <<-"run.sh" /srv/
<h1>$GREETING</h1>
index.html
	#!/bin/sh
	echo "$HOME"
	run.sh
RUN <<PY
#!/usr/bin/env python3
print("x")
PY
CMD ["/srv/run.sh"]
)");
  EXPECT_TRUE(did("run /bin/sh -c set -e\napk add --no-cache nginx\n as  in /"));
  EXPECT_TRUE(did("copy :<index.html,<run.sh, /srv"));
  EXPECT_TRUE(did("run PY as  in /"));
  EXPECT_EQ(out.config.command, Words{"/srv/run.sh"});
}

TEST_F(ProjectsTest, BuildArguments) {
  constexpr std::string_view kText = R"(ARG BASE=debian
ARG TAG=12
FROM ${BASE}:${TAG}
ARG TAG
ARG FEATURES="a b"
ARG DEBUG
ENV APP_TAG=$TAG APP_FEATURES=${FEATURES} APP_MODE=${DEBUG:+debug}
RUN configure --features "$FEATURES"
)";
  auto out = build(kText);
  EXPECT_TRUE(did("resolve debian:12"));
  EXPECT_EQ(out.config.run.env.at("APP_FEATURES"), "a b");
  EXPECT_EQ(out.config.run.env.at("APP_MODE"), "");
  out = build(kText, {.arguments = {{"TAG", "13"}, {"DEBUG", "1"}}});
  EXPECT_TRUE(did("resolve debian:13"));
  EXPECT_EQ(out.config.run.env.at("APP_TAG"), "13");
  EXPECT_EQ(out.config.run.env.at("APP_MODE"), "debug");
}

TEST_F(ProjectsTest, RustWithATestStageThatIsNotBuilt) {
  constexpr std::string_view kText = R"(FROM rust:1.80 AS deps
WORKDIR /app
COPY Cargo.toml Cargo.lock ./
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked cargo fetch
FROM deps AS test
RUN cargo test
FROM deps AS release
COPY . .
RUN cargo build --release
FROM gcr.io/distroless/cc
COPY --link --from=release /app/target/release/app /app
CMD ["/app"]
)";
  build(kText);
  EXPECT_FALSE(did("run /bin/sh -c cargo test"));
  EXPECT_TRUE(did("run /bin/sh -c cargo build --release as  in /app"));
  build(kText, {.target = "test"});
  EXPECT_EQ(count("have"), 2);  // the layers of deps
  EXPECT_TRUE(did("run /bin/sh -c cargo test as  in /app"));
}

}  // namespace
}  // namespace cay::dockerfile
