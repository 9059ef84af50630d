export { Cay, CayError, type CayOptions } from "./connection.js";
export { CaySandbox, type CaySandboxOptions } from "./sandbox.js";
