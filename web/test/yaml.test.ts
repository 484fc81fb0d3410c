import assert from "node:assert/strict";
import test from "node:test";
import { lineOf, resourceAt } from "../src/editor/lines.ts";
import { toYaml } from "../src/view/yaml.ts";

const TEMPLATE = {
  resources: {
    net: { type: "OS::Neutron::Net", properties: { name: "yes", mtu: 1500, size: "3", flag: true } },
    server: { type: "OS::Nova::Server", depends_on: ["net"], properties: { user_data: "#!/bin/sh\necho: 1\n", networks: [{ network: { get_resource: "net" }, tag: "a" }], metadata: {} } },
  },
  heat_template_version: "2021-04-16",
  description: "A: b",
};

test("sections are in the usual order, and calls of functions in one line", () => {
  assert.equal(toYaml(TEMPLATE), `heat_template_version: 2021-04-16

description: "A: b"

resources:
  net:
    type: OS::Neutron::Net
    properties:
      name: "yes"
      mtu: 1500
      size: "3"
      flag: true

  server:
    type: OS::Nova::Server
    depends_on: [net]
    properties:
      user_data: |
        #!/bin/sh
        echo: 1
      networks:
        - network: { get_resource: net }
          tag: a
      metadata: {}
`);
});

test("text is left as it is", () => {
  assert.equal(toYaml("a: 1\n"), "a: 1\n");
});

test("lines and resources find each other", () => {
  const text = toYaml(TEMPLATE);
  assert.equal(text.split("\n")[lineOf(text, "server") - 1], "  server:");
  assert.equal(lineOf(text, "gone"), 1);
  assert.equal(resourceAt(text, lineOf(text, "server") + 4), "server");
  assert.equal(resourceAt(text, lineOf(text, "net")), "net");
  assert.equal(resourceAt(text, 1), "");
});
