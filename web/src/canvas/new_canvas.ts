// slug makes an id of a name: words of small letters and digits.
export const slug = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)

// emptyCanvas is the document that a drawing begins with. A start is the least that can be stored.
export const emptyCanvas = (name: string): string =>
  `${JSON.stringify({name, nodes: [{id: 'start', type: 'start', data: {}}], connections: []}, null, 2)}\n`

// emptyRounds is an empty rounds document.
export const emptyRounds = (name: string): string => `${JSON.stringify({name, nodes: [], edges: []}, null, 2)}\n`
