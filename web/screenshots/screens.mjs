// This module lists the screens that are captured: each screen with its route in the router
// (web/src/App.tsx), and the steps that lead to it. A route without a screen fails a test
// (web/src/images.test.ts).

const graph = page => page.locator('.react-flow__node').nth(2).waitFor()
const tab = (of, query) => world => `/runs/${world[of]}?tab=${query}`
const pressed = name => page => page.getByRole('button', {name}).first().click()
const dialog = page => page.getByRole('dialog').waitFor()

// Each screen has a name, which its pictures share, a route, an address (a string, or a function of
// the world), and the steps to take there. before means that the screen is captured on a store
// without runs. brief means that two pictures are enough, because the route has others.
export const screens = [
  {name: 'sign-in', route: '', path: '/', signedOut: true},
  {name: 'first', route: '/', path: '/', before: true},
  {name: 'home', route: '/', path: '/'},
  {name: 'runs', route: '/runs', path: '/runs'},
  {name: 'run-graph', route: '/runs/:id', path: tab('translation', 'graph&heat=tokens&step=2'), act: graph},
  {name: 'run-live', route: '/runs/:id', path: tab('running', 'graph'), act: graph},
  {name: 'run-failed', route: '/runs/:id', path: tab('failed', 'graph'), act: graph},
  {name: 'run-map', brief: true, route: '/runs/:id', path: tab('map', 'steps&step=2')},
  {name: 'run-timeline', route: '/runs/:id', path: tab('translation', 'timeline')},
  {name: 'run-steps', route: '/runs/:id', path: tab('translation', 'steps&step=5&iter=1')},
  {name: 'run-conversation', route: '/runs/:id', path: tab('translation', 'conversation')},
  {name: 'run-search', route: '/runs/:id', path: tab('newsroom', 'steps&step=1&q=sundays')},
  {name: 'run-scrubbed', route: '/runs/:id', path: tab('newsroom', 'graph&at=12'), act: graph},
  {name: 'run-log', brief: true, route: '/runs/:id', path: tab('order', 'log')},
  {name: 'run-events', brief: true, route: '/runs/:id', path: tab('newsroom', 'events')},
  {
    name: 'run-copy',
    brief: true,
    route: '/runs/:id',
    path: tab('newsroom', 'steps'),
    act: async page => pressed('Copy as…')(page).then(() => dialog(page)),
  },
  {
    name: 'run-continue',
    brief: true,
    route: '/runs/:id',
    path: tab('failed', 'steps'),
    act: async page => pressed('Continue')(page).then(() => dialog(page)),
  },
  {name: 'compare', route: '/runs/:left/compare/:right', path: w => `/runs/${w.translation}/compare/${w.second}`},
  {name: 'inbox', route: '/inbox', path: '/inbox'},
  {name: 'wait-approval', route: '/inbox/:run/:wait', path: w => w.approval},
  {name: 'wait-question', route: '/inbox/:run/:wait', path: w => w.question},
  {name: 'wait-call', route: '/inbox/:run/:wait', path: w => w.call},
  {name: 'wait-budget', route: '/inbox/:run/:wait', path: w => w.budget},
  {name: 'wait-unknown', route: '/inbox/:run/:wait', path: w => w.unknown},
  {name: 'workflows', route: '/workflows', path: '/workflows'},
  {
    name: 'workflows-new',
    brief: true,
    route: '/workflows',
    path: '/workflows',
    act: async page => pressed('New from text')(page).then(() => dialog(page)),
  },
  {name: 'workflow', route: '/workflows/:id', path: '/workflows/invoices'},
  {name: 'workflow-convert', brief: true, route: '/workflows/:id', path: '/workflows/code-review', act: convert},
  {name: 'edit-canvas', route: '/workflows/:id/edit', path: '/workflows/code-review/edit', act: graph},
  {name: 'edit-node', route: '/workflows/:id/edit', path: '/workflows/code-review/edit', act: node},
  {
    name: 'edit-text',
    route: '/workflows/:id/edit',
    path: '/workflows/translation/edit',
    act: page => page.locator('.cm-content').waitFor(),
  },
  {name: 'edit-drawing', brief: true, route: '/workflows/:id/edit', path: '/workflows/translation/edit?pane=drawing'},
  {
    name: 'versions',
    route: '/workflows/:id/versions',
    path: '/workflows/newsroom/versions',
    act: page => page.locator('.cm-content').first().waitFor(),
  },
  {name: 'schedules', route: '/schedules', path: '/schedules'},
  {name: 'palette', brief: true, route: '/runs', path: '/runs', act: palette},
  {
    name: 'keyboard',
    brief: true,
    route: '/runs',
    path: '/runs',
    act: async page => page.keyboard.press('?').then(() => dialog(page)),
  },
  {name: 'not-found', brief: true, route: '*', path: '/runs/none/where'},
]

async function palette(page) {
  await page.keyboard.press('Control+k')
  await dialog(page)
  await page.getByRole('dialog').getByRole('combobox').fill('new')
}

async function convert(page) {
  await pressed('Convert')(page)
  await page.getByRole('dialog').getByLabel('Format').selectOption('steps')
  await page.getByRole('dialog').getByRole('button', {name: 'Show what changes'}).click()
  await page.getByRole('dialog').getByRole('status').waitFor()
}

async function node(page) {
  await graph(page)
  await page.locator('.react-flow__node[data-id="reviewer"]').dblclick()
  await page.locator('section[data-inspector]').waitFor()
  await page.evaluate(() => getSelection().removeAllRanges()) // a double click selects a word of what it opens
}

export const themes = ['light', 'dark']
export const sizes = {1280: {width: 1280, height: 800}, 390: {width: 390, height: 844}}

// picturesOf returns the pictures of a screen with their files, themes and widths.
export const picturesOf = screen =>
  themes
    .flatMap(theme => Object.keys(sizes).map(width => ({theme, width, file: `${screen.name}-${theme}-${width}.webp`})))
    .filter(({theme, width}) => !screen.brief || (theme === 'dark') === (width === '1280'))
