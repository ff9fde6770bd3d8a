"""Which backends there are, which devices they find, and which one is opened.

Backends are named here and imported only when they are asked for, so that optional
packages cost nothing until they are used. Those of other packages (plug-ins) are looked for when
a name or a preference goes beyond our own, or all are listed. Nothing falls back silently:
whatever was passed over is handed back with the reason.
"""

import importlib
import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from itertools import starmap

from trilby.arguments import brief, closest, in_ticks
from trilby.backend.base import Backend, DeviceInfo, Family, Kind
from trilby.backend.preference import Preference, is_word, preferences
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError, DeviceUnavailableError

# ------------------------------------------------------------------------------------------ vendors
# Whether a maker's OpenCL driver is on this machine, without loading one.
#
# Loading OpenCL takes a tenth of a second, and most machines have no driver but the one for the
# CPU that comes with pip. On Linux drivers are listed in a folder of the system. Elsewhere it is
# not known, and a GPU has to be asked for: `prefer=["gpu", "cpu"]`.

_FOR_CPUS = ("pocl", "oclgrind", "intel64")
"""How the names of drivers begin that have no device faster than the processor."""


def has_driver_for_others(folder: str | os.PathLike[str] = "/etc/OpenCL/vendors") -> bool:
    """True where there is a driver for another device than the CPU."""
    try:
        names = os.listdir(folder)
    except OSError:  # no such folder
        return False
    return any(name.endswith(".icd") and not name.lower().startswith(_FOR_CPUS) for name in names)


# ----------------------------------------------------------------------------------------- registry


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A backend or device that is not used, why, and what would change that."""

    name: str
    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a family of backends lives, and what it needs."""

    name: str
    module: str
    family: str
    package: str = ""
    """The package without which the module cannot be imported."""
    install: str = ""
    """What to give to pip for it."""
    computes: bool = True
    """False where kernels give no results: never chosen unless it is named."""
    has_faster_devices: Callable[[], bool] = bool
    """Whether it is worth looking for a GPU here. The look itself takes long."""
    distribution: str = ""
    """Of a plug-in: the package that declares it, with its version, as `trilby-arrays 1.0`."""
    refused: DeviceUnavailableError | None = None
    """Of a plug-in: why it is not even imported."""


_MOST_DIGITS = 9

ENTRIES = (
    Entry(
        "native",
        "trilby.backend.native",
        "NativeFamily",
        package="llvmlite",
        install="llvmlite",
    ),
    Entry(
        "opencl",
        "trilby.backend.opencl",
        "OpenCLFamily",
        package="pyopencl",
        install='"trilby[opencl]"',
        has_faster_devices=has_driver_for_others,
    ),
    Entry("interpreter", "trilby.backend.interpreter", "InterpreterFamily"),
    Entry("null", "trilby.backend.null", "NullFamily", computes=False),
)
"""Our own families; after devices that are faster than a processor, the first that works is taken.

Plug-ins come after them: `Accelerator()` never takes one that was not asked for.
"""

FASTER: tuple[Kind, ...] = ("gpu", "accelerator")


@dataclass(frozen=True, slots=True)
class Choice:
    """An opened backend, and what came before it in the order and could not be opened."""

    backend: Backend
    passed_over: tuple[PassedOver, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What one family has on this machine: its devices, and what is absent or refused."""

    name: str
    computes: bool
    devices: tuple[DeviceInfo, ...]
    absent: tuple[PassedOver, ...]
    is_plugin: bool = False
    """Whether it is of another package, and so never what `Accelerator()` opens."""


def open_backend(spec: str | None = None) -> Choice:
    """Open the device that `spec` names, or the first one that works.

    `open_backend("opencl:1")` opens one device, `open_backend("opencl")` the first of a
    family that works, `open_backend()` the first GPU or accelerator, or else the first of all.
    """
    entries, index = _candidates(spec)
    faster = [(one, FASTER) for one in entries if spec is None and one.has_faster_devices()]
    failed: dict[str, DeviceUnavailableError] = {}
    for entry, kinds in (*faster, *((one, None) for one in entries)):
        try:
            family = open_family(entry)
            devices = family.devices()
            wanted = devices if index is None else [_device(entry, devices, index)]
        except DeviceUnavailableError as error:
            failed[entry.name] = error
            continue
        for device in (one for one in wanted if kinds is None or one.kind in kinds):
            try:
                backend = family.open(device.index)
            except DeviceUnavailableError as error:
                failed[device.spec] = error
            else:
                return Choice(backend, tuple(starmap(_passed_over, failed.items())))
    if len(failed) == 1:
        raise next(iter(failed.values()))
    reasons = "".join(f"\n  {name}: {e.problem} ({e.advice})" for name, e in failed.items())
    raise DeviceUnavailableError(
        f"no device can be opened{reasons}", advice="`trilby devices` tells more"
    )


def _passed_over(name: str, error: DeviceUnavailableError) -> PassedOver:
    return PassedOver(name, error.problem, error.advice)


def as_preferences(given: object, argument: str) -> tuple[Preference, ...]:
    """The preferences that a user gave as an argument: a list of texts, or one text."""
    own = [entry.name for entry in ENTRIES]
    found = preferences(given, argument, own)
    if all(preference.is_plain for preference in found):
        return found
    return preferences(given, argument, [*own, *(entry.name for entry in plugins())])


def open_preferred(wanted: Sequence[Preference], without: Collection[str] = ()) -> Choice:
    """Open the first device that works of those that fit the first preference, or the second …

    `without` are the specs of devices that have failed before and are not tried again.
    """
    search = _Search(without)
    for preference in wanted:
        for family, device in search.fitting(preference):
            try:
                return Choice(family.open(device.index), tuple(search.passed_over))
            except DeviceUnavailableError as error:
                search.could_not_open(device, error)
    raise search.nothing_found(wanted)


def any_fits(wanted: Sequence[Preference], without: Collection[str]) -> bool:
    """Whether some device fits a preference, apart from those in `without`; none is opened."""
    search = _Search(without)
    return any(True for preference in wanted for _ in search.fitting(preference))


def fitting(preference: Preference, surveys: Iterable[Survey]) -> Iterator[DeviceInfo]:
    """The devices that fit; what computes nothing has to be asked for by its name."""
    for each in surveys:
        if each.computes or preference.names(each.name):
            yield from (device for device in each.devices if not preference.misfit(device))


@dataclass(slots=True)
class _Search:
    """The way to a device that fits, and what was passed over on it."""

    without: Collection[str]
    passed_over: list[PassedOver] = field(default_factory=list[PassedOver])
    _unopened: dict[str, str] = field(default_factory=dict[str, str])
    _survey: Callable[[Entry], Survey] = field(default_factory=lambda: cache(_survey))

    def fitting(self, preference: Preference) -> Iterator[tuple[Family, DeviceInfo]]:
        """What fits and was not tried yet, as it is asked for."""
        looked_at: list[Entry] = []
        found = 0
        for entry in _named(preference):
            looked_at.append(entry)
            for device in fitting(preference, [self._survey(entry)]):
                found += device.spec not in self.without
                if device.spec not in self.without and device.spec not in self._unopened:
                    yield open_family(entry), device
        if not found:
            reasons = "; ".join(self._lines([preference], looked_at))
            advice = "`trilby devices` lists what there is"
            self.passed_over.append(PassedOver(preference.text, f"none fits: {reasons}", advice))

    def could_not_open(self, device: DeviceInfo, error: DeviceUnavailableError) -> None:
        """A device fits, and does not work."""
        self._unopened[device.spec] = error.problem
        self.passed_over.append(_passed_over(device.spec, error))

    def nothing_found(self, wanted: Sequence[Preference]) -> DeviceUnavailableError:
        """Says what there is, and why none of it was taken."""
        texts = " or ".join(f"`{preference.text}`" for preference in wanted)
        lines = "".join(f"\n  {line}" for line in self._lines(wanted, all_entries()))
        return DeviceUnavailableError(
            f"no device fits {texts}{lines}",
            advice='`trilby devices` shows what can be asked for; "any" takes what there is',
        )

    def _lines(self, wanted: Sequence[Preference], entries: Iterable[Entry]) -> Iterator[str]:
        """Every device that might have been meant, with why not; then what is absent."""
        surveys = [self._survey(entry) for entry in entries]
        for each in surveys:
            asked = [one for one in wanted if each.computes or one.names(each.name)]
            for device in each.devices if asked else ():
                why = dict.fromkeys(self._why_not(device, preference) for preference in asked)
                yield f"{device.spec} ({device.name}): {', '.join(why)}"
        yield from (f"{gap.name}: {gap.reason} ({gap.advice})" for e in surveys for gap in e.absent)

    def _why_not(self, device: DeviceInfo, preference: Preference) -> str:
        if device.spec in self.without:
            return "it has failed before"
        return preference.misfit(device) or self._unopened.get(device.spec, "")


def _named(preference: Preference) -> Iterator[Entry]:
    """The families that a preference names, or all if it names none; plug-ins last."""
    named = {name for name in preference.backends if preference.names(name)}
    own = {entry.name for entry in ENTRIES}
    entries = ENTRIES if named and named <= own else all_entries()
    yield from (entry for entry in entries if not named or entry.name in named)


def all_entries() -> Iterator[Entry]:
    """Our own families, and then plug-ins, which are looked for when somebody gets there."""
    yield from ENTRIES
    yield from plugins()


def open_family(entry: Entry) -> Family:
    """Import a family, or raise a `DeviceUnavailableError` that says what to install."""
    if entry.distribution:
        return _open_plugin(entry)
    try:
        module = importlib.import_module(entry.module)
    except ImportError as error:
        if not entry.package or (error.name or entry.package).partition(".")[0] != entry.package:
            raise
        missing = isinstance(error, ModuleNotFoundError) and error.name == entry.package
        reason = "is not installed" if missing else f"cannot be imported: {error}"
        raise DeviceUnavailableError(
            f"{entry.package} {reason}", advice=f"pip install {entry.install}"
        ) from error
    family: Family = getattr(module, entry.family)()
    return family


def survey(entries: Iterable[Entry] | None = None) -> list[Survey]:
    """Look at every family, plug-ins included; nothing is opened."""
    return [_survey(entry) for entry in (all_entries() if entries is None else entries)]


def _survey(entry: Entry) -> Survey:
    devices: tuple[DeviceInfo, ...] = ()
    try:
        family = open_family(entry)
        devices = tuple(family.devices())
        # A family may say why some of what it found cannot be used.
        refused: Sequence[DeviceUnavailableError] = getattr(family, "refused", tuple)()
    except DeviceUnavailableError as error:
        refused = (error,)
    absent = tuple(_passed_over(entry.name, error) for error in refused)
    return Survey(entry.name, entry.computes, devices, absent, bool(entry.distribution))


def _candidates(spec: str | None) -> tuple[Sequence[Entry], int | None]:
    if spec is None:
        return [entry for entry in ENTRIES if entry.computes], None
    if not isinstance(spec, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- users may give anything
        raise ArgumentTypeError(
            f"a backend is named by a string, and {brief(spec)} is {type(spec).__name__}",
            advice='write "native", "opencl:1" or "interpreter"; `trilby devices` lists them all',
        )
    name, colon, number = spec.partition(":")
    entry = next((entry for entry in all_entries() if entry.name == name), None)
    if entry is None:
        raise _unknown(name)
    if colon and not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS):
        raise ArgumentValueError(
            f"{in_ticks(spec)} names no device: after the colon comes its number",
            advice=f"write `{name}:0`; `trilby devices` lists them all",
        )
    return [entry], int(number) if colon else None


def _device(entry: Entry, devices: Sequence[DeviceInfo], index: int) -> DeviceInfo:
    if index < len(devices):
        return devices[index]
    count = "one device" if len(devices) == 1 else f"{len(devices)} devices"
    raise DeviceUnavailableError(
        f"there is no `{entry.name}:{index}`: {entry.name} has {count} here",
        advice=f"the last one is `{devices[-1].spec}`; `trilby devices` lists them all",
    )


def _unknown(name: str) -> ArgumentValueError:
    names = list(dict.fromkeys(entry.name for entry in all_entries()))
    close = closest(name, names)
    meant = f"did you mean `{close}`? " if close else ""
    return ArgumentValueError(
        f"there is no backend {in_ticks(name)}",
        advice=f"{meant}the backends are {', '.join(names)}",
    )


# ----------------------------------------------------------------------------------------- plug-ins
# Backends of other packages, which declare a `Family` in a group of entry points. What they do
# wrong is a reason to pass them over, and no error of a program that does not ask for them.

PLUGIN_GROUP = "trilby.backends"


def plugins() -> Iterator[Entry]:
    """The plug-ins that are installed, by their names; looking for them takes milliseconds."""
    from importlib.metadata import entry_points  # noqa: PLC0415 -- few programs use plug-ins

    owners: dict[str, str] = {entry.name: "" for entry in ENTRIES}
    found = [(point, point.dist) for point in entry_points(group=PLUGIN_GROUP)]
    for point, package in sorted(found, key=lambda one: one[0].name):
        title = f"{package.name} {package.version}" if package else point.value
        module, _, family = point.value.partition(":")
        refused = _refused(point.name, title, owners)
        yield Entry(point.name, module, family, distribution=title, refused=refused)
        owners.setdefault(point.name, title)


def _refused(name: str, title: str, owners: Mapping[str, str]) -> DeviceUnavailableError | None:
    """Why a plug-in cannot have its name, if it cannot."""
    if owners.get(name):
        reason = f"the same name as that of {owners[name]}"
        advice = "uninstall one of them"
    elif name in owners:
        reason = "the name of a built-in backend"
        advice = "its author has to choose another name"
    elif not (name.replace("-", "_").isidentifier() and name == name.lower()) or is_word(name):
        reason = "a name that cannot be asked for"
        advice = (
            "a name is lower-case letters, digits, `-` and `_`, and no word such as `gpu` or `any`"
        )
    else:
        return None
    return DeviceUnavailableError(f"the plug-in of {title} has {reason}", advice=advice)


def _open_plugin(entry: Entry) -> Family:
    if entry.refused:
        raise entry.refused
    with _blaming(entry, "cannot be imported"):
        found = getattr(importlib.import_module(entry.module), entry.family)
        family: Family = found() if isinstance(found, type) else found
    _check_members(entry, family, Family)
    if family.name != entry.name:
        raise DeviceUnavailableError(
            f"the plug-in of {entry.distribution} has the name {in_ticks(str(family.name))}, and "
            f"its entry point {in_ticks(entry.name)}",
            advice="its author has to give both the same name",
        )
    return PluginFamily(entry, family)


class PluginFamily:
    """A family of another package; whatever it raises is a `DeviceUnavailableError` here."""

    def __init__(self, entry: Entry, family: Family) -> None:
        self.name = entry.name
        self._entry = entry
        self._family = family

    def devices(self) -> Sequence[DeviceInfo]:
        """Its devices, whose specs lead back to it."""
        with _blaming(self._entry, "fails at listing its devices"):
            found = tuple(self._family.devices())
            specs = [_spec(device) for device in found]
        wanted = [f"{self.name}:{number}" for number in range(len(found))]
        if specs != wanted:
            listed, due = (", ".join(names) for names in (specs, wanted))
            raise DeviceUnavailableError(
                f"the plug-in of {self._entry.distribution} lists the devices {listed}, which "
                f"should be {due}",
                advice="its author has to correct `backend` and `index` of each `DeviceInfo`",
            )
        return found

    def refused(self) -> Sequence[DeviceUnavailableError]:
        """What it says that it cannot use, if it says anything."""
        with _blaming(self._entry, "fails at listing what it cannot use"):
            refused = getattr(self._family, "refused", tuple)()
            return [DeviceUnavailableError(one.problem, advice=one.advice) for one in refused]

    def open(self, index: int) -> Backend:
        """One of its devices."""
        with _blaming(self._entry, f"fails at opening `{self.name}:{index}`"):
            backend = self._family.open(index)
        _check_members(self._entry, backend, Backend)
        return backend


def _spec(device: object) -> str:
    if not isinstance(device, DeviceInfo):
        message = f"{brief(device)} is no `DeviceInfo`"
        raise TypeError(message)
    return device.spec


@contextmanager
def _blaming(entry: Entry, what: str) -> Generator[None]:
    """Turn what a plug-in raises into a reason to pass it over."""
    try:
        yield
    except DeviceUnavailableError:
        raise
    except (Exception, SystemExit) as error:
        raise DeviceUnavailableError(
            f"the plug-in of {entry.distribution} {what}: {type(error).__name__}: {error}",
            advice="update or uninstall that package",
        ) from error


def _missing(given: object, names: Iterable[str]) -> list[str]:
    return [name for name in names if not hasattr(given, name)]


def _check_members(entry: Entry, given: object, protocol: type) -> None:
    """Raise where an object lacks something of a protocol of `trilby.backend.base`."""
    members = (*protocol.__annotations__, *vars(protocol))
    names = [name for name in members if not name.startswith("_")]
    with _blaming(entry, f"has no working `{protocol.__name__}`"):
        missing = _missing(given, names)
    if missing:
        raise DeviceUnavailableError(
            f"the plug-in of {entry.distribution} has no whole `{protocol.__name__}`: "
            f"{brief(given)} lacks {', '.join(f'`{name}`' for name in missing)}",
            advice="its author finds the protocol in `trilby.backend.base`",
        )
