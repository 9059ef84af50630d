"""What tests put into a sandbox to tunnel to: one program, a port for each way to behave.

server.py PORT: PORT echoes and ends when its client does; +1 reads to the end, then answers with
the SHA-256 of what came; +2 sends a line and ends first; +3 reads nothing; +4 breaks every
connection; +5 sends for ever; +6 accepts nobody; +7 answers with the address its client has.
"""
import hashlib
import socket
import struct
import sys
import threading


def echo(c):
    while data := c.recv(65536):
        c.sendall(data)
    c.shutdown(socket.SHUT_WR)


def digest(c):
    seen = hashlib.sha256()
    while data := c.recv(65536):
        seen.update(data)
    c.sendall(seen.hexdigest().encode())


def greet(c):
    c.sendall(b"good day\n")
    c.shutdown(socket.SHUT_WR)
    c.recv(1)


def stuck(c):
    threading.Event().wait()


def broken(c):
    c.recv(1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def flood(c):
    while True:
        c.sendall(bytes(65536))


def peer(c):
    c.sendall(c.getpeername()[0].encode())


def serve(listener, behave):
    def one(c):
        with c:
            try:
                behave(c)
            except OSError:
                pass

    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


def main():
    first = int(sys.argv[1])
    listeners = [
        socket.create_server(("127.0.0.1", first + i), backlog=0 if i == 6 else 256)
        for i in range(8)
    ]
    for listener, behave in zip(listeners, (echo, digest, greet, stuck, broken, flood, None, peer)):
        if behave is not None:
            threading.Thread(target=serve, args=(listener, behave), daemon=True).start()
    print("up", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
