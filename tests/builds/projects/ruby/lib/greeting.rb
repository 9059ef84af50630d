def hello(name) = "hello #{name}"
