// Templates for a first stack: they need no cloud.

export const SAMPLES: Record<string, { name: string; words: string; template: string }> = {
  chain: {
    name: "first",
    words: "A small application: it waits a little at each step, so that one can watch it.",
    template: `heat_template_version: 2021-04-16

description: A small application without a cloud. Each part takes a few seconds.

parameters:
  seconds:
    type: number
    label: Seconds for each part
    description: How long each part takes at most.
    default: 4
    constraints:
      - range: { min: 0, max: 60 }

resources:
  network:
    type: OS::Heat::Dummy
    properties:
      max_wait_secs: { get_param: seconds }

  database_volume:
    type: OS::Heat::Dummy
    properties:
      max_wait_secs: { get_param: seconds }

  database:
    type: OS::Heat::Dummy
    depends_on: [network, database_volume]
    properties:
      max_wait_secs: { get_param: seconds }

  password:
    type: OS::Heat::RandomString

  web_1:
    type: OS::Heat::Dummy
    depends_on: [network, password]
    properties:
      max_wait_secs: { get_param: seconds }
      update_in_place_prop: { get_attr: [database, name] }

  web_2:
    type: OS::Heat::Dummy
    depends_on: [network, password]
    properties:
      max_wait_secs: { get_param: seconds }
      update_in_place_prop: { get_attr: [database, name] }

  load_balancer:
    type: OS::Heat::Dummy
    depends_on: [web_1, web_2]
    properties:
      max_wait_secs: { get_param: seconds }

outputs:
  entrance:
    description: The name of the load balancer.
    value: { get_attr: [load_balancer, name] }
`,
  },
  group: {
    name: "group",
    words: "A group of ten like resources, each in a nested stack.",
    template: `heat_template_version: 2021-04-16

description: A group of like resources.

parameters:
  size:
    type: number
    default: 10
    constraints:
      - range: { min: 0, max: 200 }

resources:
  members:
    type: OS::Heat::ResourceGroup
    properties:
      count: { get_param: size }
      resource_def:
        type: OS::Heat::Dummy
        properties:
          max_wait_secs: 5
`,
  },
};
