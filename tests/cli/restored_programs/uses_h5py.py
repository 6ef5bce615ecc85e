import h5py
import numpy as np

f = h5py.File("made.h5")
f.create_dataset("s", data=["a", "bc"], dtype=h5py.special_dtype(vlen=str))
f["x"] = [1, 2]
assert f["s"][0] == "a" and f["s"][:].tolist() == ["a", "bc"] and f["x"].value.tolist() == [1, 2]
f.attrs["version"] = "2.3.1".encode("utf8")
f.attrs["name"] = "text"
f.attrs["names"] = np.array([b"a", b"bc"], np.object_)
assert f.attrs["version"] == b"2.3.1" and f.attrs.get("name") == "text" and "other" not in f.attrs
assert f.attrs["names"].tolist() == [b"a", b"bc"]
assert f.fid == f.id
f.close()
assert h5py.File("made.h5").mode == "r+"

import io

buffer = io.BytesIO()
with h5py.File(buffer) as f:
    f["a"] = [1]
with h5py.File(buffer) as f:
    assert f.mode == "r+" and list(f) == ["a"]
