// formats are the document formats, as named in the API.
export const formats = ['canvas', 'rounds', 'routes', 'steps'] as const

export type Format = (typeof formats)[number]
