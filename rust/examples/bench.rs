use discern_core::{text::*,lexicon::*,simd::*,counts::*};
use std::sync::Arc; use std::time::Instant; use std::collections::HashSet;
fn main(){
 let data=std::fs::read("/tmp/data/imdb-train.csv").unwrap();
 let docs:Vec<&[u8]>=data.split(|&b|b==b'\n').collect();
 let text=Arc::new(Text{analyzer:Analyzer::Words{shortest:2},script:Script::World,lowercase:true,shortest_gram:1,longest_gram:1,stop_words:HashSet::new(),stemmer:None});
 for _ in 0..3{
 let mut m=Marked::default(); let t=Instant::now(); let mut k=0u64;
 for d in &docs{ m.fill(code_path(),d,true); k+=m.runs().0.len() as u64;}
 println!("mark {:?} {}",t.elapsed(),k);
 let lex=Lexicon::default(); let mut toks=Tokens::new(lex.seeds()); let t=Instant::now(); let mut n=0;
 for d in &docs{ m.fill(code_path(),d,true); toks.clear(); toks.push_marked(&m,2,|_,_|()); n+=toks.len();}
 println!("mark+push {:?} {}",t.elapsed(),n);
 let mut lex=Lexicon::default(); let mut toks=Tokens::new(lex.seeds()); let mut ids=Vec::new();
 let t=Instant::now();
 for d in &docs{ m.fill(code_path(),d,true); toks.clear(); toks.push_marked(&m,2,|_,_|()); ids.clear(); lex.intern_all(&toks,&mut ids);}
 println!("mark+push+intern {:?} {}",t.elapsed(),lex.len());
 let t=Instant::now();
 for d in &docs{ m.fill(code_path(),d,true); toks.clear(); toks.push_marked(&m,2,|_,_|()); ids.clear(); lex.intern_all(&toks,&mut ids);}
 println!("again {:?} {}",t.elapsed(),lex.len());
 let t=Instant::now(); let mut s=Shard::new(&text,2);
 for d in &docs{ s.count(&[d],0);} println!("count {:?}",t.elapsed());
 let t=Instant::now(); let r=drain(vec![s]); println!("drain {:?} {}",t.elapsed(),r.offsets.len());
 }
}
