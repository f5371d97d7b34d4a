"""The source sends every part directly to each destination."""

# EVOLVE-BLOCK-START
def routes(source, destinations, parts, links, job):
    """{destination: [path of each part]}; a path is a list of regions, from the source to the destination."""
    return {region: [[source, region]] * parts for region in destinations}
# EVOLVE-BLOCK-END
