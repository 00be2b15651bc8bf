import {useStore} from '@xyflow/react'
import {useEffect, useRef} from 'react'

const widthOf = (s: {width: number}): number => s.width

// Refit, inside of a drawing, calls fit when its frame has another width than before, as when a panel opens or closes beside it.
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
