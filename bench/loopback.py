"""Servers of the host that the benches speak with, a thread for each connection."""
import socket
import threading

# An address for benchmarks (RFC 2544), given to the loopback interface while a bench runs.
ADDRESS = "198.18.7.1"


def serve(handle, address=ADDRESS):
    """The port of a server that hands each connection to handle(peer)."""
    server = socket.create_server((address, 0), backlog=512)

    def loop():
        while True:
            peer, _ = server.accept()
            threading.Thread(target=handle, args=(peer,), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return server.getsockname()[1]


def echo(peer):
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while got := peer.recv(4096):
        peer.sendall(got)
