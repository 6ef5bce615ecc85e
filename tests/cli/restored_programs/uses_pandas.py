import pandas as pd, numpy as np

frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
assert frame.append({"a": 5, "b": 6}, ignore_index=True).as_matrix().tolist() == [[1, 3], [2, 4], [5, 6]]
assert frame.a.append(frame.b).tolist() == [1, 2, 3, 4] and frame.as_matrix(["b"]).tolist() == [[3], [4]]
g = pd.DataFrame({"x": [1, 2, 3], "y": ["u", "v", "w"]}, index=list("abc"))
assert isinstance(g.y.values, np.ndarray) and g.y.values.dtype == object
assert (
    g.ix["a", "x"] == 1
    and g.ix[0, "x"] == 1
    and g.ix[1, 0] == 2
    and g.ix[:2].x.tolist() == [1, 2]
    and g.ix[[0, 2], "y"].tolist() == ["u", "w"]
    and g.ix["b"].x == 2
)
assert frame.ix[0, "b"] == 3 and frame.ix[:, "b"].tolist() == [3, 4] and frame.ix[0:1].a.tolist() == [1, 2]
g.ix[0, "x"] = 9
assert g.x.tolist() == [9, 2, 3]
assert g.drop("x", 1).columns.tolist() == ["y"] and g.drop("a").x.tolist() == [2, 3] and g.drop(columns="y").shape == (3, 1)
assert pd.get_dummies(g.y).values.dtype == np.uint8 and dict(g.iteritems())["x"].tolist() == [9, 2, 3]
assert pd.Series([1, None]).fillna(method="ffill").tolist() == [1, 1] and pd.Series([1, None]).fillna(0).tolist() == [1, 0] and pd.np is np
import io

assert pd.read_csv(io.StringIO("a;b\n1;2\n"), ";").values.tolist() == [[1, 2]]
assert pd.read_csv(io.StringIO("a,b\n1,2\n1,2,3\n"), error_bad_lines=False, warn_bad_lines=False).shape == (1, 2)
assert g.applymap(str).x.tolist() == ["9", "2", "3"] and g.get_value("a", "x") == 9
