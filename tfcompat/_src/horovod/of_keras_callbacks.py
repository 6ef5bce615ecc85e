"""The module `horovod.keras.callbacks`."""

import importlib

from tfcompat._src.horovod import callback_support

_keras = importlib.import_module("keras")
_Callback = _keras.callbacks.Callback


class BroadcastGlobalVariablesCallback(callback_support.BroadcastGlobalVariables, _Callback):
    __doc__ = callback_support.BroadcastGlobalVariables.__doc__
    backend = _keras.backend


class MetricAverageCallback(callback_support.MetricAverage, _Callback):
    __doc__ = callback_support.MetricAverage.__doc__
    backend = _keras.backend


class LearningRateScheduleCallback(callback_support.LearningRateSchedule, _Callback):
    __doc__ = callback_support.LearningRateSchedule.__doc__
    backend = _keras.backend


class LearningRateWarmupCallback(callback_support.LearningRateWarmup, _Callback):
    __doc__ = callback_support.LearningRateWarmup.__doc__
    backend = _keras.backend
