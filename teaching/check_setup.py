"""Say whether this computer is ready for the lab, or what is missing: python check_setup.py."""

import importlib.util
import platform
import subprocess
import sys
from pathlib import Path

WHEELS = Path(__file__).resolve().parent / "wheels"
PACKAGES = ("numpy", "autograd", "gt2lite", "ipykernel")


def absent():
    """Return the packages that cannot be imported."""
    importlib.invalidate_caches()
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


def install(missing):
    """Install gt2lite, and JupyterLab if nothing opens notebooks; return what pip complains of."""
    wheel = max(map(str, WHEELS.glob("gt2lite-*.whl")), default="gt2lite")
    wanted = [wheel, *(["jupyterlab"] if "ipykernel" in missing else [])]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--retries", "1"]
    complaint = ""
    for offline in (["--no-index"], []):  # first without a network
        words = [*pip, *offline, "--find-links", str(WHEELS), *wanted]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return ""
        complaint = done.stderr
        if "externally-managed-environment" in complaint:
            break
    return complaint


def advice(complaint):
    """Return what to do about a complaint of pip."""
    if "externally-managed-environment" in complaint:
        script = "env\\Scripts\\activate" if sys.platform == "win32" else "source env/bin/activate"
        return (
            "This Python installs packages in virtual environments only. Make one and try again:\n"
            f"  {Path(sys.executable).name} -m venv env\n  {script}\n  python check_setup.py"
        )
    found = {path.name.split("-")[2][2:] for path in WHEELS.glob("numpy-*.whl")}
    pythons = ", ".join(sorted(f"{digits[0]}.{digits[1:]}" for digits in found)) or "none"
    return (
        f"pip says: {complaint.strip().rpartition(chr(10))[2]}\n"
        f"Versions of Python with packages in this folder: {pythons}, for Windows, Linux (x86-64)\n"
        f"and macOS 14 (Apple silicon). This is Python {platform.python_version()} on "
        f"{platform.platform()}.\nUse one of those, or connect to the network and try again."
    )


def main():
    """Install what the folder brings, print the result, and return 0 if all is ready."""
    if sys.version_info < (3, 11):  # noqa: UP036
        print(f"not ready: Python 3.11 or later is needed, this is {platform.python_version()}")
        return 1
    complaint = ""
    if missing := absent():
        print(f"installing what is missing ({', '.join(missing)}), about a minute ...", flush=True)
        complaint = install(missing)
    if missing := absent():
        print(f"not ready: {', '.join(missing)} could not be installed.\n{advice(complaint)}")
        return 1
    print("ready: open lab.ipynb, for example by: python -m jupyterlab lab.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
