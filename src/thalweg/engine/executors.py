"""Executors of a cluster, asked for and given back as the number of partitions says, where `scale.executors` allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.model.settings import Config

EACH = "spark.executor.cores"
OWN_ALLOCATION = "spark.dynamicAllocation.enabled"


def executors_for(partitions: int, cores: int, limits: tuple[int, int]) -> int:
    """How many executors of so many cores can work on all partitions at once, within limits.

    >>> [executors_for(n, 2, (1, 3)) for n in (1, 2, 3, 6, 9)]
    [1, 1, 2, 3, 3]
    """
    fewest, most = limits
    return min(max(-(-partitions // cores), fewest), most)


class Executors:
    """Those of one Spark session. Where Spark allocates them itself, or all runs in this process, none is asked for."""

    def __init__(self, spark: Callable[[], Any]) -> None:
        self._spark = spark
        self._asked: tuple[str, int] | None = None

    def cores(self, config: Config) -> int:
        """How many tasks can run at the same time: now, or with as many executors as may be asked for."""
        context = self._spark().sparkContext
        at_hand = int(context.defaultParallelism)
        if config.executors is None or _is_local(context):
            return at_hand
        return config.executors[1] * self._each(context, at_hand)

    def follow(self, config: Config, partitions: int) -> None:
        """Ask for executors, or give some back, if these partitions need another number than was asked for last."""
        if config.executors is None or _is_local(context := self._spark().sparkContext):
            return
        each = self._each(context, int(context.defaultParallelism))
        wanted = executors_for(partitions, each, config.executors)
        asked = (str(context.applicationId), wanted)
        if asked == self._asked or context.getConf().get(OWN_ALLOCATION, "false") == "true":
            return
        self._asked = asked
        spark, tools = context._jsc.sc(), context._jvm.PythonUtils
        if spare := _alive(spark)[wanted:]:
            spark.killExecutors(tools.toSeq(spare))
        spark.requestTotalExecutors(wanted, 0, tools.toScalaMap({}))

    def _each(self, context: Any, at_hand: int) -> int:
        """The cores of an executor: as Spark was told, or those at hand divided among the executors that there are."""
        told = context.getConf().get(EACH)
        return int(told) if told else max(1, at_hand // max(1, len(_alive(context._jsc.sc()))))


def _is_local(context: Any) -> bool:
    """Whether tasks run in the process of the driver."""
    master = str(context.master)
    return master.startswith("local") and not master.startswith("local-cluster")


def _alive(spark: Any) -> list[str]:
    """The ids of executors, oldest first."""
    return sorted(str(spark.getExecutorIds().mkString(" ")).split(), key=_number)


def _number(id: str) -> tuple[int, str]:
    return (int(id) if id.isdecimal() else 0, id)
