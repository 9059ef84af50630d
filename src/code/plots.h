// The module that makes matplotlib's figures artifacts. MPLBACKEND names it.
#pragma once
#include <string_view>

namespace cay::code {

inline constexpr std::string_view kPlotsFile = "cay_plots.py";

// show() saves the open figures as PNG files in $CAY_OUTPUT_DIR and closes them. The end of the
// program does so with those that are left, but for one that was saved there already.
inline constexpr std::string_view kPlotsOfPython = R"py(import atexit
import os

import matplotlib.backend_bases as bases
from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg

_directory = os.path.realpath(os.environ.get("CAY_OUTPUT_DIR", "."))
_owner = os.getpid()
_count = 0


class FigureCanvas(FigureCanvasAgg):
    cay_saved = False

    def print_figure(self, filename, *args, **kwargs):
        done = super().print_figure(filename, *args, **kwargs)
        if isinstance(filename, (str, os.PathLike)):
            directory = os.path.dirname(os.path.realpath(filename))
            self.cay_saved = self.cay_saved or directory == _directory
        return done


@bases._Backend.export
class _CayBackend(bases._Backend):
    FigureCanvas = FigureCanvas
    FigureManager = bases.FigureManagerBase


def _save(again):
    global _count
    for manager in sorted(Gcf.get_all_fig_managers(), key=lambda one: one.num):
        figure = manager.canvas.figure
        if again or not getattr(figure.canvas, "cay_saved", False):
            _count += 1
            figure.savefig(os.path.join(_directory, "plot-%04d.png" % _count))
        Gcf.destroy(manager.num)


def show(*args, **kwargs):
    _save(True)


def _at_end():
    if os.getpid() == _owner:
        _save(False)


atexit.register(_at_end)
)py";

}  // namespace cay::code
