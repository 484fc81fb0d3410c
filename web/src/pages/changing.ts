// The pages that change a stack by a template, in one script that is loaded when one of them is opened.

export { CreatePage } from "./create.ts";
export { UpdatePage } from "./update.ts";
