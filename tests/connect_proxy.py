"""A small HTTP proxy that takes CONNECT alone, as companies have them: it knows names that the host
does not."""
import base64
import socket
import threading


class ConnectProxy:
    """`names`: where a name leads, as (address, None) or (address, port). Without the right user
    and password: 407."""

    def __init__(self, names, user=None):
        self.names, self.asked, self.heads = names, [], []
        self.authorization = b"Basic " + base64.b64encode(user.encode()) if user else None
        self.server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                got = client.recv(4096)
                if not got:
                    return
                head += got
            self.heads.append(head)
            method, target, _ = head.split(b"\r\n", 1)[0].split(b" ")
            fields = dict(
                line.split(b": ", 1) for line in head.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
            )
            if self.authorization and fields.get(b"Proxy-Authorization") != self.authorization:
                client.sendall(
                    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                    b"Proxy-Authenticate: Basic realm=x\r\n"
                    b"Content-Length: 0\r\n"
                    b"\r\n"
                )
                return
            self.asked.append(target.decode())
            name, port = target.decode().rsplit(":", 1)
            place = self.names.get(name)
            if method != b"CONNECT" or place is None:
                client.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection((place[0], place[1] or int(port))) as outside:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pass, args=(outside, client), daemon=True)
                back.start()
                _pass(client, outside)
                back.join()

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def _pass(source, target):
    try:
        while got := source.recv(65536):
            target.sendall(got)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
