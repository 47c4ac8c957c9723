import sys
import types
import unittest

from codemode_guest.display import Displays
from codemode_guest.hooks import Hooks


class Channel:
    def __init__(self):
        self.sent = []

    def notify(self, method, params):
        self.sent.append((method, params["mime"], params["run"]))


class Pyplot:
    """As much of matplotlib as display looks at."""

    def __init__(self, test):
        self.figures = []
        figure_module = types.ModuleType("matplotlib.figure")
        self.Figure = type("Figure", (), {"__module__": "matplotlib.figure", "savefig": self.savefig})
        figure_module.Figure = self.Figure
        helpers = types.ModuleType("matplotlib._pylab_helpers")
        helpers.Gcf = types.SimpleNamespace(get_all_fig_managers=self.managers)
        pyplot = types.ModuleType("matplotlib.pyplot")
        pyplot.close = self.figures.remove
        self.modules = {m.__name__: m for m in (types.ModuleType("matplotlib"), figure_module, helpers, pyplot)}
        sys.modules.update(self.modules)
        test.addCleanup(lambda: [sys.modules.pop(name) for name in self.modules])

    def savefig(self, file, format, bbox_inches):
        file.write(b"\x89PNG\r\n\x1a\n")

    def managers(self):
        return [types.SimpleNamespace(canvas=types.SimpleNamespace(figure=f)) for f in self.figures]

    def figure(self):
        self.figures.append(self.Figure())
        return self.figures[-1]


class TestDisplays(unittest.TestCase):
    def setUp(self):
        self.channel = Channel()
        self.pyplot = Pyplot(self)
        self.displays = Displays(self.channel, Hooks())
        self.displays.begin(1)
        self.image = ("display", "image/png", 1)

    def test_open_figures_at_the_end_of_a_run(self):
        self.pyplot.figure()
        self.pyplot.figure()
        self.displays.show_figures()
        self.assertEqual(self.channel.sent, [self.image] * 2)
        self.assertEqual(self.pyplot.figures, [], "figures that were shown are closed")

    def test_figure_of_an_earlier_run(self):
        self.pyplot.figure()
        self.displays.begin(2)
        self.displays.show_figures()
        self.assertEqual(self.channel.sent, [])

    def test_show_shows_them_all_and_once(self):
        self.pyplot.figure()
        self.displays.begin(1)
        self.pyplot.figure()
        sys.modules["matplotlib.pyplot"].show(block=True)
        self.displays.show_figures()
        self.assertEqual(self.channel.sent, [self.image] * 2)

    def test_last_expression(self):
        figure = self.pyplot.figure()
        self.assertTrue(self.displays.try_show(figure))
        self.displays.show_figures()
        self.assertEqual(self.channel.sent, [self.image])

    def test_classes_and_other_things_are_no_images(self):
        picture = type("Picture", (), {"_repr_png_": lambda self: b"\x89PNG\r\n\x1a\n"})
        self.assertFalse(self.displays.try_show(picture))
        for thing in (None, 5, "text", b"text", [b"\xff\xd8\xff"], object()):
            self.assertFalse(self.displays.try_show(thing), thing)
        self.assertTrue(self.displays.try_show(picture()))

    def test_images_among_what_a_tool_returned(self):
        import mcp

        image, sound = mcp.Image(b"png", "image/png"), mcp.Audio(b"wav", "audio/wav")
        self.displays.show_within(["text", image, sound, mcp.Resource("u", "image/png"), b"\x89PNG\r\n\x1a\n"])
        self.assertEqual(self.channel.sent, [self.image])
        self.displays.show_within((image,))
        self.displays.show_within([image] * 30)
        self.assertEqual(len(self.channel.sent), 21)

    def test_images_of_tools(self):
        image = type("Image", (), {"__module__": "mcp.content", "data": b"x", "mime_type": "image/webp"})()
        self.assertTrue(self.displays.try_show(image))
        self.assertEqual(self.channel.sent, [("display", "image/webp", 1)])
