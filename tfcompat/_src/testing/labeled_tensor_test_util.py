"""The base of tests of tf.contrib.labeled_tensor."""

from __future__ import annotations

from typing import Any

from tfcompat._src.testing.test_case import TestCase
from tfcompat._src.train.coordinator import Coordinator
from tfcompat._src.train.queue_runner import start_queue_runners


class Base(TestCase):
    """Compares labeled tensors; queue runners are started before they are fetched."""

    def eval(self, tensors: Any) -> Any:
        """The values of tensors."""
        with self.cached_session() as session:
            coordinator = Coordinator()
            threads = start_queue_runners(sess=session, coord=coordinator)
            try:
                return session.run(tensors)
            finally:
                coordinator.request_stop()
                coordinator.join(threads)

    def assertTensorsEqual(self, tensor_0: Any, tensor_1: Any) -> None:
        """Fails where the values of two Tensors differ."""
        self.assertAllEqual(*self.eval([tensor_0, tensor_1]))

    def assertLabeledTensorsEqual(self, tensor_0: Any, tensor_1: Any) -> None:
        """Fails where the axes or the values of two LabeledTensors differ."""
        self.assertEqual(tensor_0.axes, tensor_1.axes)
        self.assertTensorsEqual(tensor_0.tensor, tensor_1.tensor)
