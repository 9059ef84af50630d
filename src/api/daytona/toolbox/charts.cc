#include "api/daytona/toolbox/charts.h"

#include <utility>

namespace cay::api::daytona {
namespace {

// The word that the vendor's older clients look for themselves.
constexpr std::string_view kChartMark = "dtn_artifact_k39fd2:";

}  // namespace

// Figures are read by matplotlib's own objects. One that cannot be read is of type "unknown", with
// its picture.
const std::string_view kPythonRunner = R"py(import sys

_file = sys.argv[1]
with open(_file, "rb") as _opened:
    _source = _opened.read()
import os

os.unlink(_file)


def _offer_charts():
    import importlib.abc
    import importlib.util

    def element_of(axes):
        import math

        from matplotlib import colors, patches

        def number(value):
            value = float(value)
            return value if math.isfinite(value) else 0.0

        def label_of(artist):
            label = str(artist.get_label())
            return "" if label.startswith("_") else label  # matplotlib's own name

        def pairs(points):
            return [[number(one), number(two)] for one, two in points]

        out = {
            "title": axes.get_title(),
            "x_label": axes.get_xlabel(),
            "y_label": axes.get_ylabel(),
            "x_scale": axes.get_xscale(),
            "y_scale": axes.get_yscale(),
            "x_ticks": [number(one) for one in axes.get_xticks()],
            "y_ticks": [number(one) for one in axes.get_yticks()],
            "x_tick_labels": [one.get_text() for one in axes.get_xticklabels()],
            "y_tick_labels": [one.get_text() for one in axes.get_yticklabels()],
        }
        wedges = [one for one in axes.patches if isinstance(one, patches.Wedge)]
        boxes = getattr(axes, "_cay_boxes", None)
        bars = [one for one in axes.containers if type(one).__name__ == "BarContainer"]
        lines = [one for one in axes.lines]
        if boxes is not None:
            out["type"] = "box_and_whisker"
            out["elements"] = [
                {
                    "label": str(one.get("label", "")),
                    "min": number(one["whislo"]),
                    "first_quartile": number(one["q1"]),
                    "median": number(one["med"]),
                    "third_quartile": number(one["q3"]),
                    "max": number(one["whishi"]),
                    "outliers": [number(value) for value in one.get("fliers", [])],
                }
                for one in boxes
            ]
        elif wedges:
            labels = [one.get_label() for one in wedges]
            out["type"] = "pie"
            out["elements"] = [
                {
                    "label": label,
                    "angle": number(abs(one.theta2 - one.theta1)),
                    "radius": number(one.r),
                }
                for one, label in zip(wedges, labels)
            ]
        elif bars:
            ticks = dict(zip(out["x_ticks"], out["x_tick_labels"]))
            out["type"] = "bar"
            out["elements"] = []
            for group in bars:
                upright = getattr(group, "orientation", "vertical") != "horizontal"
                names = ticks if upright else dict(zip(out["y_ticks"], out["y_tick_labels"]))
                for one in group.patches:
                    middle = (
                        one.get_x() + one.get_width() / 2
                        if upright
                        else one.get_y() + one.get_height() / 2
                    )
                    value = one.get_height() if upright else one.get_width()
                    out["elements"].append(
                        {
                            "label": names.get(number(middle)) or "%g" % middle,
                            "group": label_of(group),
                            "value": "%g" % value,
                        }
                    )
        elif axes.collections and not lines:
            out["type"] = "scatter"
            out["elements"] = [
                {"label": label_of(one), "points": pairs(one.get_offsets())}
                for one in axes.collections
            ]
        elif lines:
            out["type"] = "line"
            out["elements"] = [
                {"label": label_of(one), "points": pairs(one.get_xydata())}
                for one in lines
            ]
        else:
            out["type"] = "unknown"
            out["elements"] = []
        return out

    def chart_of(figure):
        import base64
        import io

        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        parts = []
        for axes in figure.axes:
            try:
                parts.append(element_of(axes))
            except Exception:
                parts.append({"type": "unknown", "title": axes.get_title(), "elements": []})
        if len(parts) == 1:
            chart = parts[0]
        else:
            title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) else ""
            kind = "composite_chart" if parts else "unknown"
            chart = {"type": kind, "title": title, "elements": parts}
        chart["png"] = base64.b64encode(picture.getvalue()).decode("ascii")
        return chart

    def show(*_, **__):
        import json

        from matplotlib import pyplot

        for number in pyplot.get_fignums():
            line = json.dumps(chart_of(pyplot.figure(number)))
            sys.stdout.write("dtn_artifact_k39fd2:" + line + "\n")
        sys.stdout.flush()
        pyplot.close("all")

    def changed(module):
        module.show = show
        module.switch_backend("Agg")
        from matplotlib.axes import Axes

        plain = Axes.bxp

        def bxp(self, stats, *args, **kwargs):
            self._cay_boxes = list(getattr(self, "_cay_boxes", [])) + list(stats)
            return plain(self, stats, *args, **kwargs)

        Axes.bxp = bxp

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name != "matplotlib.pyplot":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            if spec is None or spec.loader is None:
                return spec
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                changed(module)

            spec.loader.exec_module = exec_module
            return spec

    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, Finder())


_offer_charts()


def _run():
    import linecache
    import types

    text = _source.decode("utf-8", "replace")
    linecache.cache["<code>"] = (len(text), None, text.splitlines(True), "<code>")
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = ["-c"] + sys.argv[2:]
    exec(compile(_source, "<code>", "exec"), main.__dict__)


def _shown(kind, error, frames):
    import traceback

    while frames is not None and frames.tb_frame.f_code.co_filename != "<code>":
        frames = frames.tb_next
    traceback.print_exception(kind, error, frames)


sys.excepthook = _shown
_run()
)py";

codec::json::array take_charts(std::string& output) {
  codec::json::array charts;
  if (output.find(kChartMark) == std::string::npos) return charts;
  std::string kept;
  std::string_view rest = output;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const std::size_t whole = end == std::string_view::npos ? rest.size() : end + 1;
    const std::size_t mark = line.find(kChartMark);
    auto chart = mark == std::string_view::npos
                     ? Result<codec::json::object>()
                     : codec::parse_object(line.substr(mark + kChartMark.size()));
    if (chart) {
      kept += line.substr(0, mark);  // the program had not ended that line
      charts.emplace_back(*std::move(chart));
    } else {
      kept += rest.substr(0, whole);
    }
    rest.remove_prefix(whole);
  }
  output = std::move(kept);
  return charts;
}

}  // namespace cay::api::daytona
