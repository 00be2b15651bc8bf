import {CalendarClock, Inbox, LayoutDashboard, type LucideIcon, Play, Workflow} from 'lucide-react'

export type Place = {path: string; name: string; keys: string; icon: LucideIcon}

// places are the parts of the page, in the order of the navigation.
export const places: Place[] = [
  {path: '/', name: 'Home', keys: 'g h', icon: LayoutDashboard},
  {path: '/runs', name: 'Runs', keys: 'g r', icon: Play},
  {path: '/inbox', name: 'Inbox', keys: 'g i', icon: Inbox},
  {path: '/workflows', name: 'Workflows', keys: 'g w', icon: Workflow},
  {path: '/schedules', name: 'Schedules', keys: 'g s', icon: CalendarClock},
]

export const isAt = (place: string, path: string): boolean =>
  place === '/' ? path === '/' : path === place || path.startsWith(`${place}/`)
