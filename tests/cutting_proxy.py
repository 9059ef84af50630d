"""A TCP proxy that cuts connections: the network as it is."""
import random
import selectors
import socket
import threading


class CuttingProxy:
    """Forwards 127.0.0.1:port to a target; cuts a connection after `cut()` bytes from the server.

    cut: called for each connection, returns how many bytes the server may send before the
    connection is reset, or None for never.
    """

    def __init__(self, target_port, cut):
        self.target_port, self.cut = target_port, cut
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _accept(self):
        while not self._stop.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        left = self.cut()
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port))
        except OSError:
            client.close()
            return
        selector = selectors.DefaultSelector()
        selector.register(client, selectors.EVENT_READ, server)
        selector.register(server, selectors.EVENT_READ, client)
        try:
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(16384)
                    if not data:
                        return
                    if key.fileobj is server and left is not None:
                        data, left = data[:left], left - len(data)
                    key.data.sendall(data)
                    if left is not None and left <= 0:
                        self.cuts += 1
                        return
        except OSError:
            return
        finally:
            for sock in (client, server):
                # Reset rather than close: what a broken path looks like.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                sock.close()

    def close(self):
        self._stop.set()
        self._listener.close()


def random_cuts(seed, low, high):
    rng = random.Random(seed)
    return lambda: rng.randrange(low, high)
