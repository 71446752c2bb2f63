//! Any bytes as a model file: its layout is refused, or every tensor lies inside the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let framed = [&(data.len() as u64).to_le_bytes()[..], data].concat();
    for file in [data, &framed[..]] {
        if let Ok((header, metadata)) = safetensors::SafeTensors::read_metadata(file) {
            for info in metadata.tensors().values() {
                let (start, end) = info.data_offsets;
                assert!(start <= end && header + 8 + end <= file.len());
            }
        }
    }
});
