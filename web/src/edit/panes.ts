import {useLocation} from 'wouter'

export const panes = [
  {id: 'text', label: 'Text'},
  {id: 'drawing', label: 'Drawing'},
  {id: 'problems', label: 'Problems'},
] as const

export type PaneID = (typeof panes)[number]['id']

// usePane gives the part that is shown where there is room for one; it stands in the address.
export function usePane(own: string, search: string): {at: PaneID; set: (id: PaneID) => void} {
  const [, go] = useLocation()
  const now = new URLSearchParams(search)
  const at = panes.find(p => p.id === now.get('pane'))?.id ?? 'text'
  return {
    at,
    set: id => {
      if (id === at) return
      now.set('pane', id)
      go(`${own}?${now}`, {replace: true})
    },
  }
}
