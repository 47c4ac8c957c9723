"""What tools return that is neither text nor data: images, audio, resources."""


class Image:
    """An image: data (bytes) and mime_type. display(image) shows it."""

    __module__ = "mcp"

    def __init__(self, data, mime_type):
        self.data = data
        self.mime_type = mime_type

    def save(self, path):
        """Write the data to a file."""
        with open(path, "wb") as file:
            file.write(self.data)

    def __repr__(self):
        return f"<mcp.{type(self).__name__} {self.mime_type}, {len(self.data):,} bytes>"

    def __eq__(self, other):
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None


class Audio(Image):
    """A sound: data (bytes) and mime_type."""

    __module__ = "mcp"


class Resource:
    """A resource that a tool returned, or a link to one.

    uri, mime_type, name, title, description, size: what the server says of it, None where it says nothing.
    text: the contents of a text; data: the contents as bytes. Both are None for a link.
    """

    __module__ = "mcp"

    def __init__(self, uri, mime_type=None, text=None, data=None, name=None, title=None, description=None, size=None):
        self.uri = uri
        self.mime_type = mime_type
        self.text = text
        self.data = data
        self.name = name
        self.title = title
        self.description = description
        self.size = size

    def save(self, path):
        """Write the contents to a file."""
        if self.data is None and self.text is None:
            raise ValueError(f"{self.uri} is a link: it has no contents to save")
        with open(path, "wb") as file:
            file.write(self.data if self.text is None else self.text.encode("utf-8", "surrogatepass"))

    def __str__(self):
        return repr(self) if self.text is None else self.text

    def __repr__(self):
        kind = f" {self.mime_type}" if self.mime_type else ""
        if self.text is not None:
            return f"<mcp.Resource {self.uri}{kind}, {len(self.text):,} characters>"
        if self.data is not None:
            return f"<mcp.Resource {self.uri}{kind}, {len(self.data):,} bytes>"
        return f"<mcp.Resource {self.uri}{kind}, link>"

    def __eq__(self, other):
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None
