"""Serves a small real model by llama.cpp's own server: `PYTHON real_model.py GGUF` prints its base
URL, and serves until its stdin ends. PYTHON is that of an environment with xllamacpp."""

import sys

import xllamacpp


def main(path, context=8192):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = context
    params.n_parallel = 1
    # Two threads wait for each other at every layer, which takes minutes on a busy host.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.sampling.seed, params.sampling.temp = 1, 0
    server = xllamacpp.Server(params)
    print(server.listening_address + "/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
