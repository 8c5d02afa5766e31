"""Lays out an environment as conda does, with this Python and its PyTorch: the interpreter in bin/, all libraries in lib/.

    python conda.py PREFIX

Packages of conda's channels are built otherwise than pip's, which are here: only where things lie is conda's."""
import importlib.util
import os
import shutil
import sys
import sysconfig


def link_all(source, to, but=()):
    os.makedirs(to, exist_ok=True)
    for name in os.listdir(source):
        if name not in but and not os.path.lexists(os.path.join(to, name)):
            os.symlink(os.path.join(source, name), os.path.join(to, name))


def main(prefix):
    version = "python{}.{}".format(*sys.version_info)
    packages, libraries = os.path.join(prefix, "lib", version, "site-packages"), os.path.join(prefix, "lib")
    os.makedirs(os.path.join(prefix, "bin"))
    os.makedirs(os.path.join(prefix, "conda-meta"))
    shutil.copy(os.path.realpath(sys.executable), os.path.join(prefix, "bin", "python"))
    link_all(sysconfig.get_path("stdlib"), os.path.join(libraries, version), but=["site-packages"])
    link_all(sysconfig.get_path("purelib"), packages, but=["torch", "nvidia"])
    own = os.path.dirname(importlib.util.find_spec("torch").origin)  # without the fake libraries it cannot be imported
    link_all(own, os.path.join(packages, "torch"), but=["lib"])
    link_all(os.path.join(own, "lib"), libraries)
    link_all(libraries, os.path.join(packages, "torch", "lib"), but=[version])
    for path in [sysconfig.get_config_var("LIBDIR"), os.path.join(sysconfig.get_path("purelib"), "nvidia", "cudnn", "lib")]:
        if path and os.path.isdir(path):
            link_all(path, libraries, but=[version, "pkgconfig"])


main(sys.argv[1])
