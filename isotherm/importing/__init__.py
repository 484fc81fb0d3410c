"""Import of stacks from a Heat, by its database, without touching their objects.

A stack tree is imported as a whole: templates, environments, files, parameters (decrypted with Heat's key), physical ids,
resource data, tags and states. It arrives idle: an update without a change finds nothing to do.

    heat_rows      reads Heat's database: the only module here that knows SQL, and Heat's tables
    decrypt        decrypts what Heat has encrypted
    heat_inputs    the inputs of Heat's stacks, as their users gave them
    judge          finds what is not understood of a tree; such a tree is not imported
    translate      by type: what Heat keeps of a resource, in our form
    ports          what resources may read of each other during the import
    prepare        from Heat's rows to ours (records: the values in between)
    run            the whole import, for the command line
"""
