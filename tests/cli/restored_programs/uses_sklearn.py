import numpy as np
from sklearn.cross_validation import train_test_split, KFold, StratifiedKFold
from sklearn.externals import joblib
from sklearn.externals.six.moves import range as r
from sklearn.manifold import TSNE
from sklearn.utils.linear_assignment_ import linear_assignment
from sklearn.preprocessing import Imputer, OneHotEncoder
from sklearn.cluster import KMeans
from sklearn.metrics import mean_squared_error, jaccard_similarity_score
from sklearn.feature_extraction.text import CountVectorizer

assert train_test_split.__module__.startswith("sklearn.model_selection") and joblib.dump
assert linear_assignment(np.array([[1, 0], [0, 1]])).tolist() == [[0, 1], [1, 0]]
assert [len(t) for t, _ in KFold(9, n_folds=3)] == [6, 6, 6]
t = TSNE(n_iter=300, perplexity=2)
assert t.max_iter == 300 and t.init == "random"
t.fit_transform(np.random.RandomState(0).rand(8, 3))
assert OneHotEncoder(sparse=False).fit_transform([[1], [2]]).tolist() == [[1, 0], [0, 1]]
assert KMeans(2, n_jobs=2).fit(np.eye(3)).n_clusters == 2
assert Imputer().fit_transform([[1.0], [np.nan], [3.0]]).tolist() == [[1], [2], [3]]
assert mean_squared_error([0.0], [2.0], squared=False) == 2
c = CountVectorizer()
c.fit(["a bb cc"])
assert c.get_feature_names() == ["bb", "cc"]
from sklearn.base import clone

clone(t)
print(t.get_params()["max_iter"])
