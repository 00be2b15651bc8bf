// base is the path under which the server is reached, without a slash at its end: '' at the root, '/hocket' behind a proxy that says so.
export const baseOf = (content: string | null | undefined): string => (content ?? '/').replace(/\/+$/, '')

export const base = baseOf(document.querySelector<HTMLMetaElement>('meta[name="hocket-base"]')?.content)

export const apiBase = `${base}/api/v1`
