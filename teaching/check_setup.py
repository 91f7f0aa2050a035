"""Say whether this computer is ready for the lab, or what is missing: python check_setup.py."""

import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ("numpy", "autograd", "gt2lite")


def absent(names):
    """Return the packages that cannot be imported."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def main():
    """Install what the folder brings, print the result, and return 0 if all is ready."""
    if sys.version_info < (3, 11):  # noqa: UP036
        print(f"not ready: Python 3.11 or later is needed, this is {sys.version.split()[0]}")
        return 1
    if absent(PACKAGES):
        pip = [sys.executable, "-m", "pip", "install", "--quiet"]
        local = ["--find-links", str(HERE / "wheels")]
        wheel = max(map(str, (HERE / "wheels").glob("gt2lite-*.whl")), default="gt2lite")
        print("installing gt2lite from this folder ...")
        for offline in (["--no-index"], []):  # first without a network
            if subprocess.run([*pip, *offline, *local, wheel], check=False).returncode == 0:
                break
        importlib.invalidate_caches()
    if missing := absent(PACKAGES):
        print(f"not ready: {', '.join(missing)} could not be installed, see the lines above")
        return 1
    if missing := absent(["ipykernel"]):
        print("not ready to open notebooks here: install JupyterLab (pip install jupyterlab)")
        print("or open lab.ipynb in VS Code, which offers to install what it needs, or in Colab")
        return 1
    print("ready: open lab.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
