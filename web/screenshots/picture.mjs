// This module compresses a screenshot to few bytes: at most 48 colors, in lossless WebP. The text
// of a page uses thousands of shades of a few colors, which no eye can distinguish; areas keep
// their colors.
const most = 48

// shrinker returns a function that converts a PNG into a small WebP. It runs in its own page, since
// a browser has everything it needs.
export async function shrinker(page) {
  await page.goto('about:blank')
  return async png => {
    const data = await page.evaluate(inPage, {png: png.toString('base64'), most})
    return stripMetadata(Buffer.from(data, 'base64'))
  }
}

// stripMetadata returns a WebP file without the data that a browser adds to its pixels: a color
// profile, which is the same for all screens.
function stripMetadata(file) {
  for (let at = 12; at < file.length; ) {
    const size = 8 + file.readUInt32LE(at + 4)
    const end = at + size + (size % 2)
    if (file.toString('latin1', at, at + 4) === 'VP8L') {
      const head = Buffer.from('RIFF    WEBP')
      head.writeUInt32LE(4 + end - at, 4)
      return Buffer.concat([head, file.subarray(at, end)])
    }
    at = end
  }
  throw new Error('the browser made no picture without loss')
}

// inPage runs in the browser, so it cannot access this module.
async function inPage({png, most}) {
  const bytes = Uint8Array.from(atob(png), c => c.charCodeAt(0))
  const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}))
  const canvas = new OffscreenCanvas(image.width, image.height)
  const context = canvas.getContext('2d')
  context.drawImage(image, 0, 0)
  const pixels = context.getImageData(0, 0, image.width, image.height)
  const all = new Uint32Array(pixels.data.buffer)
  const counts = new Map()
  for (const colour of all) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const colours = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour)
  const parts = c => [c & 255, (c >> 8) & 255, (c >> 16) & 255]
  const distance = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2])
  // Areas keep their colors. Of the other colors, only those far enough from each other are kept;
  // the distance grows until few enough remain.
  const [area, large] = [300, 900]
  let palette = []
  for (let far = 8; (palette.length === 0 || palette.length > most) && far < 1000; far *= 1.15) {
    palette = []
    for (const colour of colours) {
      const p = parts(colour)
      const least = counts.get(colour) >= Math.min(large, area * (far / 8) ** 2) ? 5 : far
      if (palette.every(q => distance(p, q[1]) >= least)) palette.push([colour, p])
      if (palette.length > most) break
    }
  }
  const nearest = new Map()
  for (const colour of colours) {
    const p = parts(colour)
    nearest.set(colour, palette.reduce((best, q) => (distance(p, q[1]) < distance(p, best[1]) ? q : best))[0])
  }
  for (let i = 0; i < all.length; i++) all[i] = nearest.get(all[i])
  context.putImageData(pixels, 0, 0)
  const blob = await canvas.convertToBlob({type: 'image/webp', quality: 1})
  let text = ''
  for (const byte of new Uint8Array(await blob.arrayBuffer())) text += String.fromCharCode(byte)
  return btoa(text)
}
