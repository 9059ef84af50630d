console.log(require("local-greeting")("node"));
