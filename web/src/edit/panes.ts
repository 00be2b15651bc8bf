import {useLocation} from 'wouter'

export const panes = [
  {id: 'canvas', label: 'Canvas'},
  {id: 'text', label: 'Text'},
  {id: 'drawing', label: 'Drawing'},
  {id: 'problems', label: 'Problems'},
] as const

export type PaneID = (typeof panes)[number]['id']

// usePane returns the part that is shown if there is room for only one; it is in the address.
// canvas means that the document is drawn by hand; the drawing is then shown first.
export function usePane(own: string, search: string, canvas: boolean): {at: PaneID; set: (id: PaneID) => void} {
  const [, go] = useLocation()
  const now = new URLSearchParams(search)
  const asked = panes.find(p => p.id === now.get('pane'))?.id ?? (canvas ? 'canvas' : 'text')
  const at = asked === 'canvas' && !canvas ? 'text' : asked
  return {
    at,
    set: id => {
      if (id === at) return
      now.set('pane', id)
      go(`${own}?${now}`, {replace: true})
    },
  }
}

// useBranch returns the key of the branch that is drawn; '' is the main graph. It is in the
// address.
export function useBranch(own: string, search: string): {at: string; set: (key: string) => void} {
  const [, go] = useLocation()
  const now = new URLSearchParams(search)
  const at = now.get('branch') ?? ''
  return {
    at,
    set: key => {
      if (key === at) return
      if (key === '') now.delete('branch')
      else now.set('branch', key)
      go(now.size > 0 ? `${own}?${now}` : own, {replace: true})
    },
  }
}
