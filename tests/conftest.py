"""Settings that must stand before any library is imported."""

import os

# scikit-learn skips one of its checks of estimators unless SciPy was told this at import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
