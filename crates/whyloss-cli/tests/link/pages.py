"""The pages of the substitute for the internet."""


def page(path, client):
    """Return the kind and the bytes of a page: the client's address, or as many bytes as the path says (`/bytes/1000`)."""
    client = client.removeprefix("::ffff:")
    if path.startswith("/bytes/"):
        return "text/plain", bytes(int(path.rsplit("/")[-1]))
    if path != "/page":
        return "text/plain", client.encode()
    images = "".join(f'<img src="/bytes/{20_000 + i}">' for i in range(20))
    protocol = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
    script = f"onload = () => {{ document.title = `${{Math.round(performance.now())}} ms ${{{protocol}}}` }}"
    return "text/html", f"<script>{script}</script><p>{client}</p>{images}".encode()
