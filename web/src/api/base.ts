// base is the path under which the server is reached, without a trailing slash: '' at the root,
// '/hocket' behind a proxy with that prefix.
export const baseOf = (content: string | null | undefined): string => (content ?? '/').replace(/\/+$/, '')

export const base = baseOf(document.querySelector<HTMLMetaElement>('meta[name="hocket-base"]')?.content)

export const apiBase = `${base}/api/v1`
