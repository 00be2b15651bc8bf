// formats are the formats of documents, as the API names them.
export const formats = ['canvas', 'rounds', 'routes', 'steps'] as const

export type Format = (typeof formats)[number]
