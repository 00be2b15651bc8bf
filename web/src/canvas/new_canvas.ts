// slug converts a name to an id of words with lowercase letters and digits.
export const slug = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)

// emptyCanvas returns the initial document of a drawing. A start node is the minimum that can be
// stored.
export const emptyCanvas = (name: string): string =>
  `${JSON.stringify({name, nodes: [{id: 'start', type: 'start', data: {}}], connections: []}, null, 2)}\n`

// emptyRounds returns an empty rounds document.
export const emptyRounds = (name: string): string => `${JSON.stringify({name, nodes: [], edges: []}, null, 2)}\n`
