from setuptools import setup

setup(name="greeting", version="1.0", packages=["greeting"])
