"""tf.contrib.session_bundle.gc: the rules of tf.estimator for which exported folders are kept."""

from tfcompat._src.base.export import export
from tfcompat._src.estimator import garbage_collection

Path = export("contrib.session_bundle.gc.Path")(garbage_collection.Path)
largest_export_versions = export("contrib.session_bundle.gc.largest_export_versions")(
    garbage_collection._largest_export_versions
)
one_of_every_n_export_versions = export("contrib.session_bundle.gc.one_of_every_n_export_versions")(
    garbage_collection._one_of_every_n_export_versions
)
mod_export_version = export("contrib.session_bundle.gc.mod_export_version")(garbage_collection._mod_export_version)
union = export("contrib.session_bundle.gc.union")(garbage_collection._union)
negation = export("contrib.session_bundle.gc.negation")(garbage_collection._negation)
get_paths = export("contrib.session_bundle.gc.get_paths")(garbage_collection._get_paths)
