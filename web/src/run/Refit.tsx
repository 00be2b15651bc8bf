import {useStore} from '@xyflow/react'
import {useEffect, useRef} from 'react'

const widthOf = (s: {width: number}): number => s.width

// Refit, inside a drawing, calls fit when the width of its frame changes, for example when a panel
// next to it opens or closes.
export function Refit({fit}: {fit: () => void}) {
  const width = useStore(widthOf)
  const before = useRef(0)
  const now = useRef(fit)
  now.current = fit
  useEffect(() => {
    if (before.current > 0 && width > 0 && width !== before.current) now.current()
    if (width > 0) before.current = width
  }, [width])
  return null
}
