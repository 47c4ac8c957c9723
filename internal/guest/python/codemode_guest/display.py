"""display(): images on their way to whoever asked for the run."""

from .early import builtins as __builtins__

import sys

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_MOST_WITHIN = 20  # blocks of one result
_METHODS = (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_svg_", "image/svg+xml"))


class Displays:
    def __init__(self, channel, hooks):
        self._channel = channel
        self._run = 0
        self._known = {}  # id -> figure of pyplot's that was open when the run began: kept, so that none takes its id
        hooks.after("matplotlib.pyplot", self._on_pyplot)

    def begin(self, run):
        self._run = run
        self._known = {id(figure): figure for figure in _open_figures()}

    def display(self, *objects):
        """Show images (figures, PIL images, image bytes, objects with _repr_png_, …); print anything else.

        Of a large table of pandas it prints head, tail and shape.
        """
        for thing in objects:
            if not self.try_show(thing):
                from . import values

                print(values.display_text(thing))

    def try_show(self, thing):
        """Show a thing if it is an image."""
        media = _media(thing)
        if media is None:
            return False
        import binascii

        mime, data = media
        encoded = binascii.b2a_base64(data, newline=False).decode()
        self._channel.notify("display", {"run": self._run, "mime": mime, "data": encoded})
        if _is_figure(thing):
            _close(thing)
        return True

    def show_within(self, values):
        """Show the images among what a tool has returned."""
        if type(values) is list:
            for value in values[:_MOST_WITHIN]:
                if type(value).__module__ == "mcp" and str(getattr(value, "mime_type", "")).startswith("image/"):
                    self.try_show(value)

    def show_figures(self):
        """Show the figures that pyplot holds open, and close them; those of earlier runs stay as they are.

        Return whether there were any.
        """
        figures = [figure for figure in _open_figures() if id(figure) not in self._known]
        for figure in figures:
            self.try_show(figure)
        return bool(figures)

    def _on_pyplot(self, pyplot):
        def show(*args, **kwargs):
            """Show all open figures."""
            self._known = {}
            self.show_figures()

        pyplot.show = show


def _open_figures():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()] if helpers else []


def _is_figure(thing):
    return any(t.__module__ == "matplotlib.figure" and t.__name__ == "Figure" for t in type(thing).__mro__)


def _close(figure):
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def is_plot_part(value):
    """Whether a value is what a call like plt.title() happens to return, and nobody asked for."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__module__.partition(".")[0] == "matplotlib"


def _media(thing):
    """The MIME type and bytes of an image, or None."""
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return _of_bytes(bytes(thing))
    if isinstance(thing, type):
        return None
    if _is_figure(thing):
        import io

        file = io.BytesIO()
        thing.savefig(file, format="png", bbox_inches="tight")
        return "image/png", file.getvalue()
    data, mime = getattr(thing, "data", None), getattr(thing, "mime_type", None)
    if type(thing).__module__.partition(".")[0] == "mcp" and isinstance(data, bytes) and isinstance(mime, str):
        return mime, data
    for method, mime in _METHODS:
        render = getattr(thing, method, None)
        data = render() if callable(render) else None
        if isinstance(data, str):
            data = data.encode()
        if isinstance(data, bytes):
            return mime, data
    return None


def _of_bytes(data):
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return mime, data
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp", data
    return None
